// The one place where text becomes HTML: parts of pages that this site answered. Browsers that know trusted types let no
// other script make any (config/settings.py).

const policy = window.trustedTypes?.createPolicy("own-pages", { createHTML: (html) => html });

/** `html`, which this site answered, as elements take it. */
export const ofSite = (html) => (policy ? policy.createHTML(html) : html);

/** `html`, which this site answered, as a document. */
export const parsed = (html) => new DOMParser().parseFromString(ofSite(html), "text/html");
