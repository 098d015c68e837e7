/** A repository in memory: path from its root, with forward slashes, to the text of the file. */
export type Tree = ReadonlyMap<string, string>

/** One place where a rule is broken. */
export interface Finding {
  readonly path: string
  readonly line: number
  readonly message: string
}

/** A rule of the repository. It sees nothing but the tree, so that its own test can plant violations. */
export interface Rule {
  /** The rule as a sentence: the title of its test. */
  readonly title: string
  /** Why the rule exists, and what to do when it is broken: printed with every finding. */
  readonly why: string
  readonly find: (tree: Tree) => readonly Finding[]
}

/** Creates a tree from literals. */
export function treeOf(files: Readonly<Record<string, string>>): Tree {
  return new Map(Object.entries(files))
}

/** Returns the files whose path matches, in the order of their paths. */
export function filesOf(tree: Tree, pattern: RegExp): (readonly [path: string, text: string])[] {
  return [...tree].filter(([path]) => pattern.test(path)).toSorted(([one], [other]) => (one < other ? -1 : 1))
}

/** Returns the line of an offset, counted from 1. */
export function lineAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++
  return line
}

/** Returns as many spaces, with the same line breaks: blanked text keeps its offsets. */
export function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, ' ')
}

/** Returns every match of a pattern in a text, as findings. */
export function findMatches(
  path: string,
  text: string,
  pattern: RegExp,
  message: (match: RegExpExecArray) => string,
): Finding[] {
  return [...text.matchAll(pattern)].map((match) => ({
    path,
    line: lineAt(text, match.index),
    message: message(match),
  }))
}

/** Returns a finding when a required file is missing; otherwise none. */
export function findMissing(tree: Tree, path: string): Finding[] {
  return tree.has(path) ? [] : [{ path, line: 1, message: 'is missing' }]
}

/** Returns the findings of a rule in a tree, each as a line whose beginning an editor can jump to. */
export function findingsIn(rule: Rule, tree: Tree): string[] {
  return rule.find(tree).map(({ path, line, message }) => `${path}:${line} ${message}`)
}

/** Returns the findings of a rule in a tree, and then why the rule exists. Empty when the rule is kept. */
export function report(rule: Rule, tree: Tree): string {
  const findings = findingsIn(rule, tree)
  return findings.length === 0 ? '' : [`Broken: ${rule.title}.`, ...findings, `Why: ${rule.why}`].join('\n')
}

/** TypeScript that ships to users. */
export const packageSource: RegExp = /^packages\/[^/]+\/src\/.*\.ts$/

/** Every TypeScript file. */
export const anySource: RegExp = /\.ts$/
