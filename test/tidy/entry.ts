import { sourceOf } from './source.ts'

const list = /(?<![\w$.])export(?:\s+type\b)?\s*\{([^{}]*)\}/g
const declaration =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\s*\*?|class|const|let|interface|type|enum|namespace)\s+([\w$]+)/gm

/** Returns the names that a file exports, as its importers write them. */
export function exportedNamesOf(text: string): string[] {
  const { code } = sourceOf(text)
  const listed = [...code.matchAll(list)].flatMap((match) => (match[1] ?? '').split(',').map(importedName))
  const declared = [...code.matchAll(declaration)].map((match) => match[1] ?? '')
  return [...new Set([...listed, ...declared])].filter((name) => name !== '')
}

function importedName(item: string): string {
  return item
    .trim()
    .replace(/^type\s+(?!as\b)/, '')
    .replace(/^.*\s+as\s+/, '')
}
