import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import { sourceOf } from './source.ts'
import { lineAt } from './tree.ts'

/** One mention of another module. */
export interface ModuleImport {
  /** Undefined when it is computed: `import(name)`. */
  readonly specifier: string | undefined
  readonly kind: 'IMPORT' | 'EXPORT_NAMES' | 'EXPORT_ALL' | 'DYNAMIC'
  /** True when the import is erased at run time. */
  readonly isTypeOnly: boolean
  readonly line: number
}

// All of these run on code whose strings are blank, so that each opening quote is followed by its literal.
const forms: readonly { readonly kind: ModuleImport['kind']; readonly pattern: RegExp }[] = [
  {
    kind: 'IMPORT',
    pattern:
      /(?<![\w$.])import(?:\s+type\b(?!\s*(?:from\b|,)))?\s*(?:[\w$]+\s*,?\s*)?(?:\{[^{}]*\}|\*\s*as\s+[\w$]+)?\s*(?<![\w$])from\s*(?=["'])/g,
  },
  { kind: 'IMPORT', pattern: /(?<![\w$.])import\s*(?=["'])/g },
  { kind: 'EXPORT_NAMES', pattern: /(?<![\w$.])export(?:\s+type\b)?\s*\{[^{}]*\}\s*from\s*(?=["'])/g },
  {
    kind: 'EXPORT_ALL',
    pattern: /(?<![\w$.])export(?:\s+type\b)?\s*\*(?:\s*as\s+[\w$]+)?\s*from\s*(?=["'])/g,
  },
  { kind: 'DYNAMIC', pattern: /(?<![\w$.])(?:import|require)\s*\(\s*/g },
]

/** Returns every import of a source file, static or dynamic, of values or of types, in the order of the text. */
export function importsOf(text: string): ModuleImport[] {
  const { code, literals } = sourceOf(text)
  return forms
    .flatMap(({ kind, pattern }) => [...code.matchAll(pattern)].map((match) => ({ kind, match })))
    .toSorted((one, other) => one.match.index - other.match.index)
    .map(({ kind, match }) => {
      const value = literals.get(match.index + match[0].length)?.value
      const specifier = value?.includes('${') ? undefined : value
      return { specifier, kind, isTypeOnly: isTypeOnly(match[0]), line: lineAt(text, match.index) }
    })
}

function isTypeOnly(statement: string): boolean {
  if (/^(?:import|export)\s+type\b(?!\s*(?:from\b|,))/.test(statement)) return true
  const names = /^(?:import|export)\s*\{([^{}]*)\}/.exec(statement)?.[1]?.split(',') ?? []
  const named = names.map((name) => name.trim()).filter((name) => name !== '')
  return named.length > 0 && named.every((name) => /^type\s+(?!as\b)/.test(name))
}

/** Returns true for `./x.ts` and `../x.ts`. */
export function isRelative(specifier: string): boolean {
  return /^\.\.?(?:\/|$)/.test(specifier)
}

/** Resolves a relative import of `from`. */
export function resolveRelative(from: string, specifier: string): string {
  return posix.join(posix.dirname(from), specifier)
}

/** Returns `@scope/name` of `@scope/name/sub/path`; undefined for relative imports and Node's modules. */
export function packageNameOf(specifier: string): string | undefined {
  if (isRelative(specifier) || isBuiltin(specifier)) return undefined
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
