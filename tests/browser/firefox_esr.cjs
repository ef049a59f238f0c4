// Node loads this before Playwright's driver. Playwright sets a colour scheme in each new window by a command of WebDriver BiDi
// that Firefox ESR 153 does not know; the pages have one scheme, so a command without effect takes its place.
const { Module } = require("node:module");

const compile = Module.prototype._compile;
Module.prototype._compile = function (source, name, ...rest) {
  const known = source.replaceAll('"emulation.setMediaFeaturesOverride"', '"session.status"');
  return compile.call(this, known, name, ...rest);
};
