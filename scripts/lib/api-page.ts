/**
 * The page that lists every name a package's root exports: its kind, the first sentence of its doc comment, and the pages
 * that use it. It is made from the sources, so a name without a sentence cannot be exported unnoticed.
 */

import { posix } from 'node:path'

/** Reads a file by its path from the root of the repository. */
export type ReadText = (path: string) => string

/** A documentation page and its text. */
export interface Page {
  /** From the root of the repository: `docs/how-to/choose-tiers.md`. */
  readonly path: string
  readonly text: string
}

/** An entry of a package that users import. */
export interface Entry {
  /** `@waybill/core/idempotency`. */
  readonly specifier: string
  /** From the root of the repository: `packages/core/src/idempotency/index.ts`. */
  readonly source: string
}

/** One exported name. */
export interface ExportedName {
  readonly name: string
  readonly kind: 'class' | 'const' | 'function' | 'type'
  /** The first sentence of its doc comment; empty when it has none. */
  readonly meaning: string
}

const header = `# API

Every name that an entry exports, with the pages that use it. \`@waybill/kafka/wire\` and
\`@waybill/core/option\` are for authors of transports and packages. Entries named \`/internal\` serve the packages of this
repository and may change in any release. Full declarations are in [etc](../../etc). This page is written by \`npm run api\`.`

/** Writes the whole page. */
export function apiPage(entries: readonly Entry[], read: ReadText, pages: readonly Page[]): string {
  const sections = entries.map(({ specifier, source }) => {
    const rows = exportedNames(source, read).map(
      ({ name, kind, meaning }) => `| \`${name}\` | ${kind} | ${meaning} | ${linksTo(name, pages)} |`,
    )
    return `## ${specifier}\n\n| name | kind | meaning | used in |\n|---|---|---|---|\n${rows.join('\n')}`
  })
  return `${[header, ...sections].join('\n\n')}\n`
}

/** Lists what an entry exports, sorted by name. */
export function exportedNames(source: string, read: ReadText): ExportedName[] {
  return reExports(read(source))
    .map(({ name, from }) => describeName(name, sourceOf(source, from), read))
    .toSorted((one, other) => (one.name.toLowerCase() < other.name.toLowerCase() ? -1 : 1))
}

function reExports(text: string): { name: string; from: string }[] {
  return [...text.matchAll(/^export (?:type )?\{([^}]*)\} from '([^']+)'/gm)].flatMap(([, names = '', from = '']) =>
    names
      .split(',')
      .map((item) => item.trim().replace(/^type /, ''))
      .filter((item) => item !== '')
      .map((name) => ({ name, from })),
  )
}

/** Resolves a module; a sibling package's root is followed to its own declaration. */
function sourceOf(entry: string, from: string): string {
  const sibling = /^@waybill\/([\w-]+)$/.exec(from)?.[1]
  return sibling === undefined ? posix.join(posix.dirname(entry), from) : `packages/${sibling}/src/index.ts`
}

function describeName(name: string, path: string, read: ReadText): ExportedName {
  const text = read(path)
  const declared = new RegExp(
    `(/\\*\\*(?:(?!\\*/)[^])*\\*/\\n)?export (?:declare )?(?:abstract )?(?:async )?(interface|type|class|function|const)\\*? ${name}\\b`,
  ).exec(text)
  if (declared === null) {
    const onward = reExports(text).find((one) => one.name === name)
    if (onward === undefined) throw new Error(`${path} neither declares nor re-exports ${name}.`)
    return describeName(name, sourceOf(path, onward.from), read)
  }
  const [, comment = '', keyword] = declared
  const kind = keyword === 'interface' ? 'type' : (keyword as ExportedName['kind'])
  return { name, kind, meaning: firstSentence(comment) }
}

function firstSentence(comment: string): string {
  const prose = comment
    .replace(/^\s*\/\*\*|\*\/\s*$/g, '')
    .replace(/^\s*\* ?/gm, '')
    .replace(/\{@link (\w+)\}/g, '`$1`')
    .split(/\n\s*\n|(?:^|\s)@(?:throws|param|returns|defaultValue)\b/)[0]
    ?.replace(/\s+/g, ' ')
    .trim()
  // A period or colon inside a code span ends no sentence.
  const sentence = /^(?:`[^`]*`|[^`])*?[^.\s`]{2}`?[.:](?=\s|$)/.exec(prose ?? '')?.[0] ?? prose ?? ''
  return sentence.replace(/:$/, '.').replaceAll('|', '\\|')
}

/** Links the first two pages that use the name: tutorials and how-tos before references. */
function linksTo(name: string, pages: readonly Page[]): string {
  const mention = new RegExp(`\\b${name}\\b`)
  return pages
    .filter(({ text }) => mention.test(codeIn(text)))
    .slice(0, 2)
    .map(({ path }) => `[${posix.basename(path, '.md')}](${posix.relative('docs/reference', path)})`)
    .join(', ')
}

/** Returns code blocks and code spans: prose may use the same word with another meaning. */
function codeIn(text: string): string {
  return (text.match(/```[^]*?```|`[^`\n]+`/g) ?? []).join('\n')
}
