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

/** Changes of components of Swagger UI. */
const plugin = ({ React: { createElement } }) => ({
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
  },
});

/** Names for screen readers, where Swagger UI has none, or another one than it shows. */
const NAMES = {
  'select.content-type': 'Media type',
  'select.examples-select-element': 'Example',
  'textarea.body-param__text': 'Request body',
  '.copy-to-clipboard button': 'Copy',
  '.close-modal': 'Close',
  '.auth-container button[type="submit"]': 'Authorize',
  '.auth-container button[aria-label="Remove authorization"]': 'Logout',
};

function nameFields() {
  for (const [selector, name] of Object.entries(NAMES)) {
    for (const field of root.querySelectorAll(selector)) field.setAttribute('aria-label', name);
  }
  for (const row of root.querySelectorAll('[data-param-name]')) {
    row.querySelector('input, select')?.setAttribute('aria-label', row.dataset.paramName);
  }
}

const root = document.getElementById('swagger-ui');
new MutationObserver(nameFields).observe(root, { childList: true, subtree: true });

const response = await fetch('openapi.json');
const spec = await response.json();
// The document may name another way to the service, which the Content-Security-Policy would refuse.
spec.servers = [{ url: new URL('v1', document.baseURI).href }];

/** Where Swagger UI shows each operation, by its id. */
const places = new Map(
  Object.values(spec.paths)
    .flatMap((item) => Object.values(item))
    .map(({ operationId, tags }) => [operationId, `#/${tags[0]}/${operationId}`]),
);

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
