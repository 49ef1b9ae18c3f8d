// Runs in the browser, on the page at /docs: Swagger UI for the service that serves the page.

const keepDigits = (_key, value, { source }) => (typeof value === 'number' ? JSON.rawJSON(source) : value);

/** Indents JSON, and keeps every digit of its numbers. Swagger UI would round the numbers to doubles. */
function indentJson(text) {
  if (JSON.rawJSON === undefined) return text;
  try {
    return JSON.stringify(JSON.parse(text, keepDigits), undefined, 2);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}

/** The error codes that the section "Limits" of the page lists. */
const LIMIT_CODES = new Set(['REQUEST_TIMEOUT', 'PAYLOAD_TOO_LARGE', 'URI_TOO_LONG', 'HEADERS_TOO_LARGE']);

const renderNothing = () => null;
const isError = (_response, status) => Number(status) >= 400;
const statusesOf = (responses) => responses.keySeq().join(', ');

/** Replaces parts of Swagger UI. */
function plugin({ React: { createElement } }) {
  /** Shows only the summary until the reader opens it. */
  const foldable = (summary, content, isOpen) =>
    createElement('details', { open: isOpen }, createElement('summary', undefined, summary), content);

  const errorRow = (Markdown) => (response, status) => {
    const examples = response.getIn(['content', 'application/json', 'examples'])?.valueSeq();
    const messages = examples?.map((example) => example.getIn(['value', 'message']));
    return createElement(
      'tr',
      { key: status, 'data-code': status },
      createElement('th', { scope: 'row' }, status),
      createElement('td', undefined, createElement(Markdown, { source: response.get('description') })),
      createElement(
        'td',
        undefined,
        messages?.map((text) => createElement('p', { key: text }, text)),
      ),
    );
  };

  const errorTable = (errors, Markdown) => {
    const titles = ['Status', 'Meaning', 'Message, for example'];
    const head = titles.map((title) => createElement('th', { key: title, scope: 'col' }, title));
    return createElement(
      'table',
      { className: 'errors' },
      createElement('thead', undefined, createElement('tr', undefined, head)),
      createElement('tbody', undefined, errors.map(errorRow(Markdown)).valueSeq()),
    );
  };

  /** Shows the answer of the service, then the documented success and errors. */
  const answers = (Original) => (properties) => {
    const { responses, tryItOutResponse: answer, getComponent } = properties;
    const successes = responses.filterNot(isError);
    const errors = responses.filter(isError);
    const documented = { ...properties, responses: successes, tryItOutResponse: undefined };
    return createElement(
      'div',
      { className: 'answers' },
      answer && createElement(getComponent('liveResponse'), { ...properties, response: answer }),
      foldable(`Success: ${statusesOf(successes)}`, createElement(Original, documented), !answer),
      foldable(`Errors: ${statusesOf(errors)}`, errorTable(errors, getComponent('Markdown', true))),
    );
  };

  return {
    components: {
      // The page shows these parts itself, in less space.
      InfoContainer: renderNothing,
      ServersContainer: renderNothing,
      AuthorizeBtnContainer: renderNothing,
      authorizeOperationBtn: renderNothing,
      OperationTag: ({ children }) => children,
      // The form is always open, so it needs no button.
      TryItOutButton: renderNothing,
      // Replaces a link inside a button, because keyboards and screen readers cannot tell the two apart.
      DeepLink: ({ text }) => createElement('span', undefined, text),
    },
    wrapComponents: {
      responses: answers,
      responseBody: (Original) => (properties) =>
        createElement(Original, {
          ...properties,
          content: indentJson(properties.content),
          // Swagger UI prints plain text unchanged.
          contentType: 'text/plain',
        }),
      headers: (Original) => (properties) => foldable('Headers', createElement(Original, properties)),
    },
  };
}

/** Attributes for screen readers that Swagger UI lacks or sets wrongly. */
const ATTRIBUTES = {
  'select.content-type': { 'aria-label': 'Media type' },
  'select.examples-select-element': { 'aria-label': 'Example' },
  'textarea.body-param__text': { 'aria-label': 'Request body' },
  '.copy-to-clipboard button': { 'aria-label': 'Copy' },
  // These headings follow a heading of level 2.
  h4: { 'aria-level': '3' },
  h5: { 'aria-level': '4' },
  // Swagger UI makes each table a region. One region per operation would be too many.
  '.responses-table[role]': { role: 'table' },
};

function describeElements() {
  for (const [selector, attributes] of Object.entries(ATTRIBUTES)) {
    for (const element of root.querySelectorAll(selector)) {
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    }
  }
  for (const row of root.querySelectorAll('[data-param-name]')) {
    row.querySelector('input, select')?.setAttribute('aria-label', row.dataset.paramName);
  }
}

/** Swagger UI has colours for dark mode, but does not read the setting of the system. */
const darkScheme = matchMedia('(prefers-color-scheme: dark)');
const followSystem = () => document.documentElement.classList.toggle('dark-mode', darkScheme.matches);
darkScheme.addEventListener('change', followSystem);
followSystem();

const root = document.getElementById('swagger-ui');
new MutationObserver(describeElements).observe(root, { childList: true, subtree: true });

const response = await fetch('openapi.json');
const spec = await response.json();
const operations = Object.values(spec.paths).flatMap(Object.values);
const version = new URL(spec.servers[0].url).pathname.split('/').at(-1);

/** Adds a row to a table of the rules. Backticks mark code. */
function addRow(table, ...texts) {
  const cells = texts.map((text) => {
    const parts = text.split('`').map((part, index) => {
      return index % 2 === 0 ? part : Object.assign(document.createElement('code'), { textContent: part });
    });
    const cell = document.createElement('td');
    cell.append(...parts);
    return cell;
  });
  const row = document.createElement('tr');
  row.append(...cells);
  document.getElementById(table).append(row);
}

const operationsByScope = Map.groupBy(operations, ({ description }) => /scope `(.+?)`/.exec(description)[1]);
for (const [scope, allowed] of operationsByScope) {
  addRow('scope-rows', `\`${scope}\``, allowed.map(({ summary }) => summary).join(', '));
}

/** The status, code and meaning of each error. ROUTE_NOT_FOUND belongs to no operation. */
const errors = new Map([['ROUTE_NOT_FOUND', ['404', 'ROUTE_NOT_FOUND', 'There is nothing at this path.']]]);
for (const found of operations.flatMap(({ responses }) => Object.values(responses))) {
  const { description, content } = spec.components.responses[found.$ref?.split('/').at(-1)] ?? found;
  for (const [, code, meaning] of description.matchAll(/^`([A-Z_\d]+)`: (.+)$/gm)) {
    errors.set(code, [String(content['application/json'].examples[code].value.status), code, meaning]);
  }
}
for (const [status, code, meaning] of [...errors.values()].toSorted(([a], [b]) => a - b)) {
  addRow('error-rows', status, `\`${code}\``, meaning);
  if (LIMIT_CODES.has(code)) addRow('limit-rows', status, meaning);
}

// The document may name another address of the service, which the Content-Security-Policy would block.
spec.servers = [{ url: new URL('.', document.baseURI).href.slice(0, -1) }];
// The page shows whole paths, with the version.
spec.paths = Object.fromEntries(
  Object.entries(spec.paths).map(([path, item]) => [`/${version}${path}`, item]),
);

/** The fragments under which Swagger UI shows the operations, by `operationId`. */
const fragments = new Map();
for (const operation of operations) {
  fragments.set(operation.operationId, `#/${operation.tags[0]}/${operation.operationId}`);
  if (operation.deprecated) operation.summary += ' (deprecated)';
}

/** Replaces `#getPet` by the fragment of Swagger UI. The `Link` of a deprecated operation ends in such a name. */
function replaceFragment() {
  const fragment = fragments.get(location.hash.slice(1));
  if (fragment !== undefined) history.replaceState(undefined, '', fragment);
}

replaceFragment();
const ui = window.SwaggerUIBundle({
  spec,
  domNode: root,
  plugins: [plugin],
  deepLinking: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  // Scrolls to a section of the rules, because the operations have moved it down.
  onComplete: () => document.getElementById(location.hash.slice(1))?.scrollIntoView(),
});
addEventListener('hashchange', () => {
  replaceFragment();
  if (location.hash.startsWith('#/')) ui.layoutActions.parseDeepLinkHash(location.hash);
});

/** The name of the stored API key. Contains the path, because another service may have the same origin. */
const STORED_KEY_NAME = `API key of ${location.pathname}`;
const keyField = document.getElementById('key');
const keepBox = document.getElementById('keep-key');

function useKey() {
  const key = keyField.value.trim();
  ui.preauthorizeApiKey('apiKey', key);
  // The empty key was authorized first, because Swagger UI can log out only an authorized key.
  if (key === '') ui.authActions.logout(['apiKey']);
  return key;
}

keyField.form.addEventListener('submit', (event) => event.preventDefault());
keyField.form.addEventListener('input', () => {
  const key = useKey();
  if (keepBox.checked) sessionStorage.setItem(STORED_KEY_NAME, key);
  else sessionStorage.removeItem(STORED_KEY_NAME);
});

// Uses a key that was typed while the operations were loading.
useKey();

// Comes last, because a browser may refuse the storage, and all code above works without it.
const keptKey = sessionStorage.getItem(STORED_KEY_NAME);
if (keptKey !== null) {
  keyField.value = keptKey;
  keepBox.checked = true;
  useKey();
}
