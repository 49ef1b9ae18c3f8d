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

/** Where the key is kept for the tab. Another service of this origin has another path. */
const KEPT = `API key of ${location.pathname}`;
let keepsKey = false;

/** Changes of Swagger UI. */
const plugin = ({ React: { createElement, Fragment } }) => ({
  components: {
    // The page says this itself, in less space.
    InfoContainer: () => null,
    ServersContainer: () => null,
    // A link inside the button that opens the operation: keyboards and screen readers cannot tell them apart.
    DeepLink: ({ text }) => createElement('span', undefined, text),
  },
  wrapComponents: {
    responseBody: (Original) => (properties) =>
      createElement(Original, {
        ...properties,
        content: pretty(properties.content),
        // Printed as it is.
        contentType: 'text/plain',
      }),
    // Each error is one line with its codes, until it is opened.
    response: (Original) => (properties) => {
      const { code, response } = properties;
      const row = createElement(Original, properties);
      if (Number(code) < 400) return row;
      const codes = response.getIn(['content', 'application/json', 'examples'])?.keySeq().join(', ');
      const table = createElement('table', undefined, createElement('tbody', undefined, row));
      const details = createElement('details', undefined, createElement('summary', undefined, codes), table);
      return createElement(
        'tr',
        { className: 'response', 'data-code': code },
        createElement('td', { className: 'response-col_status' }, code),
        createElement('td', { className: 'response-col_description' }, details),
      );
    },
    AuthItem: (Original) => (properties) => {
      const onChange = ({ target }) => {
        keepsKey = target.checked;
      };
      const box = createElement('input', { type: 'checkbox', defaultChecked: keepsKey, onChange });
      const label = createElement('label', undefined, box, ' Keep the key until this tab is closed');
      const item = createElement(Original, properties);
      return createElement(Fragment, undefined, item, properties.authorized.isEmpty() && label);
    },
  },
  statePlugins: {
    auth: {
      wrapActions: {
        authorize: (original) => (authorized) => {
          original(authorized);
          const key = authorized.apiKey?.value;
          if (keepsKey && key) sessionStorage.setItem(KEPT, key);
        },
        logout: (original) => (names) => {
          original(names);
          sessionStorage.removeItem(KEPT);
        },
      },
    },
  },
});

/** Attributes for screen readers, where Swagger UI has none, or a wrong one. */
const ATTRIBUTES = {
  'select.content-type': { 'aria-label': 'Media type' },
  'select.examples-select-element': { 'aria-label': 'Example' },
  'textarea.body-param__text': { 'aria-label': 'Request body' },
  '.copy-to-clipboard button': { 'aria-label': 'Copy' },
  '.close-modal': { 'aria-label': 'Close' },
  '.modal-ux': { role: 'dialog', 'aria-modal': 'true', 'aria-label': 'Authorization' },
  '.auth-container h6': { 'aria-level': '5' },
  '#auth-bearer-value': { 'aria-label': 'Value' },
  '.auth-container button[type="submit"]': { 'aria-label': 'Authorize' },
  '.auth-container button[aria-label="Remove authorization"]': { 'aria-label': 'Logout' },
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
// The document may name another way to the service, which the Content-Security-Policy would refuse.
spec.servers = [{ url: new URL('.', document.baseURI).href.slice(0, -1) }];
// Shown as they are called.
spec.paths = Object.fromEntries(Object.entries(spec.paths).map(([path, item]) => [`/v1${path}`, item]));

/** Where Swagger UI shows each operation, by its id. */
const places = new Map();
for (const operation of Object.values(spec.paths).flatMap(Object.values)) {
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

// Last: a browser may refuse storage, and the rest of the page works without it.
const keptKey = sessionStorage.getItem(KEPT);
if (keptKey !== null) {
  keepsKey = true;
  ui.preauthorizeApiKey('apiKey', keptKey);
}
