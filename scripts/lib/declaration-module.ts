/**
 * An emitted declaration file. The reader is not a TypeScript parser: the compiler prints every top-level statement
 * from column 0 and indents its content, and the package entries name each export, so the first words identify a
 * statement. A statement of any other form is an error, never a gap in a report.
 */
export interface DeclarationModule {
  /** Declarations by name, without comments. Overloads and merged declarations are one text. */
  readonly declared: ReadonlyMap<string, string>
  /** Exports by exported name. */
  readonly exported: ReadonlyMap<string, Origin>
  /** Imports by local name. */
  readonly imported: ReadonlyMap<string, Origin>
  /** Augmentations of other modules. */
  readonly augmentations: readonly string[]
}

/** The origin of a name: another module, or with `from` undefined the same one. */
export interface Origin {
  readonly from: string | undefined
  readonly name: string
}

const declaration =
  /^(export )?(?:declare )?(?:abstract )?(?:interface|type|class|function|const|let|namespace) ([\w$]+)/
const augmentation = /^declare module ['"]/
const nameList = /^(export|import)(?: type)? \{([^}]*)\}(?: from ['"](.+)['"])?;?$/
const wholeImport = /^import (?:type )?(\* as )?([\w$]+) from ['"](.+)['"];?$/

/** Parses the text of a `.d.ts` file. */
export function parseDeclarations(text: string, file: string): DeclarationModule {
  const declared = new Map<string, string>()
  const exported = new Map<string, Origin>()
  const imported = new Map<string, Origin>()
  const augmentations: string[] = []
  for (const statement of statementsOf(withoutComments(text))) {
    const list = nameList.exec(statement)
    const whole = wholeImport.exec(statement)
    const declares = declaration.exec(statement)
    if (list !== null) {
      const [, verb, names = '', from] = list
      for (const { name, as } of namesIn(names)) (verb === 'export' ? exported : imported).set(as, { from, name })
    } else if (whole !== null) {
      const [, star, as = '', from] = whole
      imported.set(as, { from, name: star === undefined ? 'default' : '*' })
    } else if (declares !== null) {
      const [, isExported, name = ''] = declares
      const before = declared.get(name)
      const own = statement.replace(/^export /, '').replace(/^declare /, '')
      declared.set(name, before === undefined ? own : `${before}\n${own}`)
      if (isExported !== undefined) exported.set(name, { from: undefined, name })
    } else if (augmentation.test(statement)) {
      augmentations.push(statement)
    } else {
      throw new Error(`${file}: an API report cannot describe this statement: ${statement}`)
    }
  }
  return { declared, exported, imported, augmentations }
}

/** Removes comments, but not comment-like text inside string types. */
function withoutComments(text: string): string {
  const stringOrComment = /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g
  return text.replace(stringOrComment, (_, string: string | undefined) => string ?? '')
}

function statementsOf(text: string): string[] {
  const statements: string[] = []
  for (const line of text.split('\n').map((each) => each.trimEnd())) {
    if (line === '') continue
    const last = statements.length - 1
    // A union whose members have comments begins on a line of its own, after a bare equals sign.
    const continues = /^[\s)\]}>|&]/.test(line) || (statements[last] ?? '').endsWith('=')
    if (continues && last >= 0) statements[last] += `\n${line}`
    else statements.push(line)
  }
  return statements
}

function namesIn(list: string): { name: string; as: string }[] {
  return list
    .split(',')
    .map((item) => item.trim().replace(/^type /, ''))
    .filter((item) => item !== '')
    .map((item) => {
      const [name = '', as = name] = item.split(' as ')
      return { name, as }
    })
}
