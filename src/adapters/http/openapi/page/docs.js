// Runs in the browser, on the page at /docs: Swagger UI for the service that serves the page.

const exactly = (_key, value, { source }) => (typeof value === 'number' ? JSON.rawJSON(source) : value);

/** JSON with line ends and with every digit of its numbers. Swagger UI would round them to doubles. */
function pretty(text) {
  if (JSON.rawJSON === undefined) return text;
  try {
    return JSON.stringify(JSON.parse(text, exactly), undefined, 2);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}

/** The codes of the limits on what a client sends. */
const LIMITS = new Set(['REQUEST_TIMEOUT', 'PAYLOAD_TOO_LARGE', 'URI_TOO_LONG', 'HEADERS_TOO_LARGE']);

const nothing = () => null;
const isError = (_response, status) => Number(status) >= 400;
const statusesOf = (responses) => responses.keySeq().join(', ');

/** Changes of Swagger UI. */
function plugin({ React: { createElement } }) {
  /** One line, until it is opened. */
  const folded = (summary, content, isOpen) =>
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

  /** What the service has answered, then what the document says of a success and of all errors. */
  const answers = (Original) => (properties) => {
    const { responses, tryItOutResponse: answer, getComponent } = properties;
    const successes = responses.filterNot(isError);
    const errors = responses.filter(isError);
    const documented = { ...properties, responses: successes, tryItOutResponse: undefined };
    return createElement(
      'div',
      { className: 'answers' },
      answer && createElement(getComponent('liveResponse'), { ...properties, response: answer }),
      folded(`Success: ${statusesOf(successes)}`, createElement(Original, documented), !answer),
      folded(`Errors: ${statusesOf(errors)}`, errorTable(errors, getComponent('Markdown', true))),
    );
  };

  return {
    components: {
      // The page says these itself, in less space.
      InfoContainer: nothing,
      ServersContainer: nothing,
      AuthorizeBtnContainer: nothing,
      authorizeOperationBtn: nothing,
      OperationTag: ({ children }) => children,
      // Every operation can be tried at any time.
      TryItOutButton: nothing,
      // A link inside the button that opens the operation: keyboards and screen readers cannot tell them apart.
      DeepLink: ({ text }) => createElement('span', undefined, text),
    },
    wrapComponents: {
      responses: answers,
      responseBody: (Original) => (properties) =>
        createElement(Original, {
          ...properties,
          content: pretty(properties.content),
          // Printed as it is.
          contentType: 'text/plain',
        }),
      headers: (Original) => (properties) => folded('Headers', createElement(Original, properties)),
    },
  };
}

/** Attributes for screen readers, where Swagger UI has none, or a wrong one. */
const ATTRIBUTES = {
  'select.content-type': { 'aria-label': 'Media type' },
  'select.examples-select-element': { 'aria-label': 'Example' },
  'textarea.body-param__text': { 'aria-label': 'Request body' },
  '.copy-to-clipboard button': { 'aria-label': 'Copy' },
  // Below the heading of the page.
  h4: { 'aria-level': '3' },
  h5: { 'aria-level': '4' },
  // Not a region: there is one for each operation.
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

/** Swagger UI has colours for dark mode, but does not ask the system. */
const dark = matchMedia('(prefers-color-scheme: dark)');
const followSystem = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followSystem);
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

/** Which operations each scope is for. */
const scopes = Map.groupBy(operations, ({ description }) => /scope `(.+?)`/.exec(description)[1]);
for (const [scope, allowed] of scopes) {
  addRow('scope-rows', `\`${scope}\``, allowed.map(({ summary }) => summary).join(', '));
}

/** The status, the code and the meaning of each error. This one belongs to no operation. */
const errors = new Map([['ROUTE_NOT_FOUND', ['404', 'ROUTE_NOT_FOUND', 'There is nothing at this path.']]]);
for (const found of operations.flatMap(({ responses }) => Object.values(responses))) {
  const { description, content } = spec.components.responses[found.$ref?.split('/').at(-1)] ?? found;
  for (const [, code, meaning] of description.matchAll(/^`([A-Z_\d]+)`: (.+)$/gm)) {
    errors.set(code, [String(content['application/json'].examples[code].value.status), code, meaning]);
  }
}
for (const [status, code, meaning] of [...errors.values()].toSorted(([a], [b]) => a - b)) {
  addRow('error-rows', status, `\`${code}\``, meaning);
  if (LIMITS.has(code)) addRow('limit-rows', status, meaning);
}

// The document may name another way to the service, which the Content-Security-Policy would refuse.
spec.servers = [{ url: new URL('.', document.baseURI).href.slice(0, -1) }];
// Shown as they are called.
spec.paths = Object.fromEntries(
  Object.entries(spec.paths).map(([path, item]) => [`/${version}${path}`, item]),
);

/** Where Swagger UI shows each operation, by its id. */
const places = new Map();
for (const operation of operations) {
  places.set(operation.operationId, `#/${operation.tags[0]}/${operation.operationId}`);
  if (operation.deprecated) operation.summary += ' (deprecated)';
}

/** `#getPet`, where the `Deprecation` of an answer leads, means the operation. */
function nameOperation() {
  const place = places.get(location.hash.slice(1));
  if (place !== undefined) history.replaceState(undefined, '', place);
}

nameOperation();
const ui = window.SwaggerUIBundle({
  spec,
  domNode: root,
  plugins: [plugin],
  deepLinking: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  // A section of the rules has moved down since the browser looked for it.
  onComplete: () => document.getElementById(location.hash.slice(1))?.scrollIntoView(),
});
addEventListener('hashchange', () => {
  nameOperation();
  if (location.hash.startsWith('#/')) ui.layoutActions.parseDeepLinkHash(location.hash);
});

/** Where the key is kept for the tab. Another service of this origin has another path. */
const KEPT = `API key of ${location.pathname}`;
const keyField = document.getElementById('key');
const keepBox = document.getElementById('keep-key');

function useKey() {
  const key = keyField.value.trim();
  ui.preauthorizeApiKey('apiKey', key);
  // Swagger UI cannot log out what was never authorized.
  if (key === '') ui.authActions.logout(['apiKey']);
  return key;
}

keyField.form.addEventListener('submit', (event) => event.preventDefault());
keyField.form.addEventListener('input', () => {
  const key = useKey();
  if (keepBox.checked) sessionStorage.setItem(KEPT, key);
  else sessionStorage.removeItem(KEPT);
});

// What was typed before the operations were loaded.
useKey();

// Last: a browser may refuse storage, and the rest of the page works without it.
const keptKey = sessionStorage.getItem(KEPT);
if (keptKey !== null) {
  keyField.value = keptKey;
  keepBox.checked = true;
  useKey();
}
