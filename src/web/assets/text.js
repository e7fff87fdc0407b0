// The texts of the console, in one table per language: the English text is the key. A language is a module that exports
// such a table; a text that it lacks is shown in English.
const tables = {en: {}};
let table = tables.en;

export function setLanguage(name) {
  table = tables[name] || tables.en;
  document.documentElement.lang = name in tables ? name : 'en';
}

// `{name}` in a text stands for that member of `values`.
export function t(text, values = {}) {
  return (table[text] || text).replace(/\{(\w+)\}/g, (whole, name) => name in values ? String(values[name]) : whole);
}
