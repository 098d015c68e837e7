import { isJsonObject } from './json.ts'

/** The dialects of JSON Schema that differ in meaning. */
export type Dialect = 'draft-04' | 'draft-06' | 'draft-07' | '2019-09' | '2020-12'

const known: readonly (readonly [RegExp, Dialect])[] = [
  [/json-schema\.org\/draft-0?[34]\//, 'draft-04'],
  [/json-schema\.org\/draft-0?6\//, 'draft-06'],
  [/json-schema\.org\/(?:draft-0?7\/)?schema\b/, 'draft-07'],
  [/json-schema\.org\/draft\/2019-09\//, '2019-09'],
  [/json-schema\.org\/draft\/2020-12\//, '2020-12'],
]

/** Returns the dialect that a schema declares: 2020-12 for one that declares none, undefined for one that is not known. */
export function dialectOf(schema: unknown): Dialect | undefined {
  const declared = isJsonObject(schema) ? schema['$schema'] : undefined
  if (typeof declared !== 'string') return '2020-12'
  return known.find(([pattern]) => pattern.test(declared))?.[1]
}

/** Tells whether `$ref` makes the keywords beside it ineffective. */
export function refHidesSiblings(dialect: Dialect): boolean {
  return dialect.startsWith('draft-')
}

/** Tells whether `format` is an assertion by convention: before 2019-09 validators check it. */
export function assertsFormat(dialect: Dialect): boolean {
  return dialect.startsWith('draft-')
}

const order: readonly Dialect[] = ['draft-04', 'draft-06', 'draft-07', '2019-09', '2020-12']

/** The dialects in which keywords came. Some validators check them in schemas of an earlier dialect, too, and others do not. */
const since: ReadonlyMap<string, Dialect> = new Map([
  ['if', 'draft-07'],
  ['dependentRequired', '2019-09'],
  ['dependentSchemas', '2019-09'],
  ['unevaluatedItems', '2019-09'],
  ['unevaluatedProperties', '2019-09'],
  ['prefixItems', '2020-12'],
])

/** Tells whether a keyword came after a dialect. */
export function isLaterKeyword(keyword: string, dialect: Dialect): boolean {
  const first = since.get(keyword)
  return first !== undefined && order.indexOf(first) > order.indexOf(dialect)
}
