import { withoutFences } from '../markdown.ts'
import { sourceOf } from '../source.ts'
import { type Finding, filesOf, findMissing, lineAt, packageSource, type Rule, type Tree } from '../tree.ts'

const docsPath = 'docs/reference/errors.md'

interface ErrorClass {
  readonly path: string
  readonly line: number
  readonly name: string
  readonly code: string | undefined
}

/** Checks that each error code, which users match on, belongs to one class and is explained in one place. */
export const errorCodeRule: Rule = {
  title: `every error class has a code of its own, and ${docsPath} explains it`,
  why:
    'Users match on the code and operators look it up at night: two errors must not share one, and none may be ' +
    `unexplained. Declare \`static override readonly code = 'WAYBILL_…'\` in the class and write a section ` +
    `\`## WAYBILL_…\` in ${docsPath} that names the class and says what happened, what was not lost and what to do.`,
  find: (tree) => {
    if (!tree.has(docsPath)) return findMissing(tree, docsPath)
    const classes = errorClassesOf(tree)
    const sections = sectionsOf(tree.get(docsPath) ?? '')
    const known = new Set(classes.map(({ code }) => code))
    return [
      ...classes.flatMap(({ path, line, name, code }, index): Finding[] => {
        const earlier = classes.slice(0, index).find((other) => other.code === code)
        const message = objectionTo({ name, code }, code === undefined ? undefined : earlier?.name, sections)
        return message === undefined ? [] : [{ path, line, message }]
      }),
      ...sections.flatMap(({ code, line }, index): Finding[] => {
        if (!known.has(code)) return [{ path: docsPath, line, message: `explains ${code}, which no class declares` }]
        if (sections.findIndex((other) => other.code === code) === index) return []
        return [{ path: docsPath, line, message: `explains ${code} twice` }]
      }),
    ]
  },
}

function objectionTo(
  { name, code }: Pick<ErrorClass, 'name' | 'code'>,
  sharedWith: string | undefined,
  sections: readonly Section[],
): string | undefined {
  if (code === undefined) return `${name} declares no code, so it would carry that of the class above it`
  if (!/^WAYBILL_[A-Z0-9]+(?:_[A-Z0-9]+)*$/.test(code)) return `${name} has the code ${code}, which is not WAYBILL_…`
  if (sharedWith !== undefined) return `${name} has the code ${code}, which belongs to ${sharedWith}`
  const section = sections.find((candidate) => candidate.code === code)
  if (section === undefined) return `${name} has the code ${code}, which ${docsPath} does not explain`
  if (!section.text.includes(name)) return `${name} is not named in the section ${code} of ${docsPath}`
  return undefined
}

/** Returns the classes that extend an error, except abstract ones: those are only thrown as one of their subclasses. */
function errorClassesOf(tree: Tree): ErrorClass[] {
  return filesOf(tree, packageSource).flatMap(([path, text]) => {
    const { code, literals } = sourceOf(text)
    const heads = [...code.matchAll(/(\babstract\s+)?\bclass\s+(\w+)(?:<[^{]*>)?\s+extends\s+(?:\w+\.)*\w*Error\b/g)]
    return heads.flatMap((head, index): ErrorClass[] => {
      if (head[1] !== undefined) return []
      const body = code.slice(head.index, heads[index + 1]?.index)
      const declaration = /\bstatic\s+(?:override\s+)?readonly\s+code\b[^='"`]*=\s*/.exec(body)
      const value = declaration && literals.get(head.index + declaration.index + declaration[0].length)?.value
      return [{ path, line: lineAt(text, head.index), name: head[2] ?? '', code: value ?? undefined }]
    })
  })
}

interface Section {
  readonly code: string
  readonly line: number
  readonly text: string
}

function sectionsOf(text: string): Section[] {
  const page = withoutFences(text)
  const heads = [...page.matchAll(/^## +`?(WAYBILL_\w+)`?[ \t]*$/gm)]
  return heads.map((head, index) => ({
    code: head[1] ?? '',
    line: lineAt(page, head.index),
    text: page.slice(head.index, heads[index + 1]?.index),
  }))
}
