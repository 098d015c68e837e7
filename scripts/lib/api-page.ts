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

/** One exported name. */
export interface ExportedName {
  readonly name: string
  readonly kind: 'class' | 'const' | 'function' | 'type'
  /** The first sentence of its doc comment; empty when it has none. */
  readonly meaning: string
}

const header = `# API

Every name that a package's root exports, with the pages that use it. Entries named \`/internal\` serve the packages of this
repository and may change in any release. Full declarations are in [etc](../../etc). This page is written by \`npm run api\`.`

/** Writes the whole page. */
export function apiPage(
  packages: readonly { readonly name: string; readonly folder: string }[],
  read: ReadText,
  pages: readonly Page[],
): string {
  const sections = packages.map(({ name, folder }) => {
    const rows = exportedNames(folder, read).map(
      ({ name: exported, kind, meaning }) => `| \`${exported}\` | ${kind} | ${meaning} | ${linksTo(exported, pages)} |`,
    )
    return `## ${name}\n\n| name | kind | meaning | used in |\n|---|---|---|---|\n${rows.join('\n')}`
  })
  return `${[header, ...sections].join('\n\n')}\n`
}

/** Lists what the root entry of a package exports, sorted by name. */
export function exportedNames(folder: string, read: ReadText): ExportedName[] {
  const entry = `${folder}/src/index.ts`
  return reExports(read(entry))
    .map(({ name, from }) => describeName(name, sourceOf(entry, from), read))
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

/** A sibling package's root is followed to its own declaration. */
function sourceOf(entry: string, from: string): string {
  const sibling = /^@waybill\/([\w-]+)$/.exec(from)?.[1]
  return sibling === undefined ? posix.join(posix.dirname(entry), from) : `packages/${sibling}/src/index.ts`
}

function describeName(name: string, path: string, read: ReadText): ExportedName {
  const text = read(path)
  const declared = new RegExp(
    `(/\\*\\*(?:(?!\\*/)[^])*\\*/\\n)?export (?:declare )?(?:abstract )?(?:async )?(interface|type|class|function|const) ${name}\\b`,
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
    .split(/\n\s*\n|@\w+/)[0]
    ?.replace(/\s+/g, ' ')
    .trim()
  const sentence = /^.*?[^.\s]{2}[.:](?=\s|$)/.exec(prose ?? '')?.[0] ?? prose ?? ''
  return sentence.replace(/:$/, '.').replaceAll('|', '\\|')
}

/** The first two pages that name it: tutorials and how-tos before references. */
function linksTo(name: string, pages: readonly Page[]): string {
  const mention = new RegExp(`\\b${name}\\b`)
  return pages
    .filter(({ text }) => mention.test(codeIn(text)))
    .slice(0, 2)
    .map(({ path }) => `[${posix.basename(path, '.md')}](${posix.relative('docs/reference', path)})`)
    .join(', ')
}

/** Code blocks and code spans: prose may use the same word for something else. */
function codeIn(text: string): string {
  return (text.match(/```[^]*?```|`[^`\n]+`/g) ?? []).join('\n')
}
