import { ArgumentError } from '@waybill/core'
import { type Dialect, dialectOf, isLaterKeyword, refHidesSiblings } from './dialect.ts'
import { isDeeperThan } from './is-deeper-than.ts'
import { isJsonObject, type JsonObject, type JsonValue, pointerTo } from './json.ts'
import { indexSchema, type LocatedSchema, type SchemaIndex } from './schema-index.ts'
import { SchemaMarks } from './schema-marks.ts'
import { createNode, type SchemaNode, type SchemaType } from './schema-node.ts'
import { settleUnevaluated } from './settle-unevaluated.ts'

/** A defect of a schema: the place is no JSON Schema, and what it means is not known. */
export interface SchemaDefect {
  readonly pointer: string
  readonly message: string
}

/** A JSON Schema as it was read. */
export interface SchemaDocument {
  readonly root: SchemaNode
  readonly dialect: Dialect
  readonly defects: readonly SchemaDefect[]
  /** Whether keywords beside a `$ref` were left out, as dialects before 2019-09 say and not all validators do. */
  readonly hidesKeywords: boolean
  /** Whether parts have URIs of their own: writers do not look into them, so everything counts as declared. */
  readonly hasResources: boolean
  /** Equal for documents that say the same; absent for one that was not read. */
  readonly text?: string
}

/**
 * Reads a JSON Schema of any dialect into nodes of one form.
 *
 * @param besideReferences - HIDE leaves keywords beside a `$ref` out in dialects before 2019-09
 * @throws {@link ArgumentError} for what is neither an object nor a boolean.
 */
export function readSchema(schema: unknown, besideReferences: 'HIDE' | 'APPLY' = 'HIDE'): SchemaDocument {
  if (typeof schema !== 'boolean' && !isJsonObject(schema))
    throw new ArgumentError('A JSON Schema is an object or a boolean.', {
      hint: 'Pass the schema itself, not its text.',
    })
  if (isDeeperThan(schema, deepestJson)) return undecidable(nestedTooDeep, dialectOf(schema))
  const declared = dialectOf(schema)
  const dialect = declared ?? '2020-12'
  if (declared === undefined) {
    const defects = [{ pointer: '/$schema', message: 'names a dialect that is not known' }]
    return {
      root: createNode('', { unknown: ['$schema'] }),
      dialect,
      defects,
      hidesKeywords: false,
      hasResources: false,
    }
  }
  const index = indexSchema(schema, dialect)
  const reader = new SchemaReader(index, dialect, besideReferences === 'HIDE' && refHidesSiblings(dialect))
  const root = reader.readRoot()
  const { defects, hidesKeywords, text } = reader
  return { root, dialect, defects, hidesKeywords, hasResources: index.hasResources, text }
}

/** The meaning of a document that is not read. */
function undecidable(reason: string, dialect: Dialect = '2020-12'): SchemaDocument {
  return {
    root: createNode('', { unknown: [reason] }),
    dialect,
    defects: [],
    hidesKeywords: false,
    hasResources: false,
  }
}

/** Levels of a document's text, each schema inside a property is two; all that follows goes as deep. */
const deepestJson = 400
/** Levels of schemas, those behind references included. */
const deepestSchema = 250
/** The keyword that stands for what lies deeper. */
const nestedTooDeep = 'nesting beyond 250 levels'

const typeNames: readonly SchemaType[] = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']

const counts = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const
const numbers = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const

class SchemaReader {
  readonly defects: SchemaDefect[] = []
  hidesKeywords = false
  readonly #nodes = new Map<object, SchemaNode>()
  readonly #marks = new SchemaMarks()
  readonly #index: SchemaIndex
  readonly #dialect: Dialect
  readonly #hides: boolean
  #depth = 0

  constructor(index: SchemaIndex, dialect: Dialect, hides: boolean) {
    this.#index = index
    this.#dialect = dialect
    this.#hides = hides
  }

  get text(): string {
    return `${this.#dialect} ${this.#marks.of(this.#index.root.schema).text}`
  }

  readRoot(): SchemaNode {
    const root = this.#read(this.#index.root)
    settleUnevaluated(this.#nodes.values())
    return root
  }

  #read({ schema, pointer, base }: LocatedSchema): SchemaNode {
    if (typeof schema === 'boolean') return createNode(pointer, { isNever: !schema })
    const earlier = this.#nodes.get(schema)
    if (earlier !== undefined) return earlier
    if (this.#depth >= deepestSchema) return createNode(pointer, { unknown: [nestedTooDeep] })
    this.#depth += 1
    try {
      return this.#readObject(schema, pointer, base)
    } finally {
      this.#depth -= 1
    }
  }

  #readObject(schema: JsonObject, pointer: string, base: string): SchemaNode {
    const node = createNode(pointer)
    this.#nodes.set(schema, node)
    const { text, hasReference } = this.#marks.of(schema)
    if (!hasReference) node.text = `${this.#dialect} ${text}`
    const place = new SchemaPlace(withoutLater(node, schema, this.#dialect), pointer, (message, at) =>
      this.defects.push({ pointer: at, message }),
    )
    const child = (value: unknown, ...keys: readonly (string | number)[]): SchemaNode => {
      const at = pointerTo(pointer, ...keys)
      if (typeof value === 'boolean' || isJsonObject(value))
        return this.#read({ schema: value, pointer: at, base: baseInside(this.#index, value, base) })
      this.defects.push({ pointer: at, message: 'is no schema' })
      return createNode(at, { unknown: ['a value that is no schema'] })
    }
    const { $ref: reference } = schema
    if (typeof reference === 'string') {
      const target = this.#refer(reference, base, pointer)
      if (this.#hides)
        this.hidesKeywords ||= !Object.keys(schema).every((key) => annotations.has(key) || notes.has(key))
      // A mere reference is its target: goals that meet it again are recognized.
      if (target !== node && (this.#hides || Object.keys(schema).every((key) => annotations.has(key)))) {
        this.#nodes.set(schema, target)
        return target
      }
      node.ref = target
      if (this.#hides) return node
    }
    const dynamic = schema['$dynamicRef'] ?? schema['$recursiveRef']
    if (typeof dynamic === 'string' && !this.#dialect.startsWith('draft-')) {
      // In a document of one resource a dynamic reference has one target.
      if (this.#index.hasResources) node.unknown = ['$dynamicRef']
      else if (node.ref === undefined) node.ref = this.#refer(dynamic, base, pointer)
      else node.allOf = [this.#refer(dynamic, base, pointer)]
    }
    readTypes(node, place)
    readValues(node, place)
    readAssertionsOfValidators(node, place)
    readArrays(node, place, child, this.#dialect)
    readObjects(node, place, child)
    readLogic(node, place, child)
    return node
  }

  #refer(reference: string, base: string, pointer: string): SchemaNode {
    const target = this.#index.find(reference, base)
    if (target !== undefined) return this.#read(target)
    this.defects.push({ pointer, message: `refers to ${reference}, which is not in this document` })
    return createNode(pointer, { unknown: [`$ref ${reference}`] })
  }
}

/** Members that demand nothing of a value. */
const annotations = new Set(['$ref', '$schema', '$defs', 'definitions', '$comment', 'title', 'description', 'examples'])

/** More of them, which a reference in a dialect before 2019-09 hides without a change of meaning. */
const notes = new Set(['default', '$id', 'id', 'readOnly', 'writeOnly'])

/** Returns a schema without the keywords that its dialect does not have; a verdict cannot depend on them. */
function withoutLater(node: SchemaNode, schema: JsonObject, dialect: Dialect): JsonObject {
  const later = Object.keys(schema).filter((key) => isLaterKeyword(key, dialect))
  if (later.length === 0) return schema
  node.unknown = [...(node.unknown ?? []), ...later.map((key) => `${key} in ${dialect}`)]
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !later.includes(key)))
}

type ReadChild = (value: unknown, ...keys: readonly (string | number)[]) => SchemaNode

/** One schema object, and typed access to its members: a member of the wrong type is a defect. */
class SchemaPlace {
  readonly schema: JsonObject
  readonly #pointer: string
  readonly #report: (message: string, pointer: string) => void

  constructor(schema: JsonObject, pointer: string, report: (message: string, pointer: string) => void) {
    this.schema = schema
    this.#pointer = pointer
    this.#report = report
  }

  defect(key: string, message: string): void {
    this.#report(message, pointerTo(this.#pointer, key))
  }

  number(key: string): number | undefined {
    const value = this.schema[key]
    if (value === undefined) return undefined
    if (typeof value === 'number' && Number.isFinite(value)) return value
    // A boolean beside minimum is the exclusive bound of draft-04, which is read there.
    if (typeof value !== 'boolean') this.defect(key, 'is no number')
    return undefined
  }

  text(key: string): string | undefined {
    const value = this.schema[key]
    if (value === undefined || typeof value === 'string') return value
    this.defect(key, 'is no text')
    return undefined
  }

  list(key: string): readonly JsonValue[] | undefined {
    const value = this.schema[key]
    if (value === undefined || Array.isArray(value)) return value as readonly JsonValue[] | undefined
    this.defect(key, 'is no list')
    return undefined
  }

  entries(key: string): [string, JsonValue][] | undefined {
    const value = this.schema[key]
    if (value === undefined) return undefined
    if (isJsonObject(value)) return Object.entries(value)
    this.defect(key, 'is no object')
    return undefined
  }
}

function baseInside(index: SchemaIndex, schema: JsonObject | boolean, outer: string): string {
  const id = isJsonObject(schema) ? (schema['$id'] ?? schema['id']) : undefined
  if (typeof id !== 'string' || id.startsWith('#')) return outer
  return index.find(id, outer)?.base ?? outer
}

function readTypes(node: SchemaNode, place: SchemaPlace): void {
  const { type } = place.schema
  if (type === undefined) return
  const names = Array.isArray(type) ? (type as readonly JsonValue[]) : [type]
  const unknown = names.filter((name) => !typeNames.includes(name as SchemaType))
  for (const name of unknown) place.defect('type', `is ${JSON.stringify(name)}, which is no type of JSON Schema`)
  if (names.length === 0) place.defect('type', 'is an empty list')
  if (unknown.length > 0 || names.length === 0) node.unknown = [...(node.unknown ?? []), 'type']
  else node.types = new Set(names as readonly SchemaType[])
}

/** Keywords that no dialect has and that ajv checks, by itself or with its packages. */
const assertionsOfValidators = [
  'formatMinimum',
  'formatMaximum',
  'formatExclusiveMinimum',
  'formatExclusiveMaximum',
  'instanceof',
  'typeof',
  'range',
  'exclusiveRange',
  'regexp',
  'uniqueItemProperties',
  'allRequired',
  'anyRequired',
  'oneRequired',
  'patternRequired',
  'prohibited',
  'deepProperties',
  'deepRequired',
]

/** Some readers check these keywords and others do not, so a verdict cannot depend on them. */
function readAssertionsOfValidators(node: SchemaNode, { schema }: SchemaPlace): void {
  const found = assertionsOfValidators.filter((key) => Object.hasOwn(schema, key))
  if (schema['nullable'] === true) found.unshift('nullable')
  if (found.length > 0) node.unknown = [...(node.unknown ?? []), ...found]
}

function readValues(node: SchemaNode, place: SchemaPlace): void {
  const { schema } = place
  if (Object.hasOwn(schema, 'const')) node.enum = [schema['const'] as JsonValue]
  const listed = place.list('enum')
  if (listed !== undefined) {
    const already = node.enum
    node.enum = already === undefined ? listed : already // The member `const` is checked as a part of `allOf` below.
    if (already !== undefined) node.allOf = [createNode(node.pointer, { enum: listed })]
  }
  if (Object.hasOwn(schema, 'default')) node.default = schema['default'] as JsonValue
  for (const key of [...numbers, ...counts]) {
    const value = place.number(key)
    if (value !== undefined) node[key] = value
  }
  if (node.multipleOf !== undefined && node.multipleOf <= 0) {
    place.defect('multipleOf', 'is not above zero')
    delete node.multipleOf
  }
  readBooleanBounds(node, schema)
  for (const key of ['pattern', 'format', 'title'] as const) {
    const value = place.text(key)
    if (value !== undefined) node[key] = value
  }
}

/** In draft-04 `exclusiveMinimum: true` changes the meaning of `minimum`. */
function readBooleanBounds(node: SchemaNode, schema: JsonObject): void {
  if (schema['exclusiveMinimum'] === true && node.minimum !== undefined) {
    node.exclusiveMinimum = node.minimum
    delete node.minimum
  }
  if (schema['exclusiveMaximum'] === true && node.maximum !== undefined) {
    node.exclusiveMaximum = node.maximum
    delete node.maximum
  }
}

function readArrays(node: SchemaNode, place: SchemaPlace, child: ReadChild, dialect: Dialect): void {
  const { schema } = place
  const { items, prefixItems } = schema
  if (Array.isArray(items)) {
    node.prefixItems = items.map((item, index) => child(item, 'items', index))
    if (schema['additionalItems'] !== undefined) node.items = child(schema['additionalItems'], 'additionalItems')
  } else if (items !== undefined) node.items = child(items, 'items')
  if (Array.isArray(prefixItems)) node.prefixItems = prefixItems.map((item, index) => child(item, 'prefixItems', index))
  if (schema['uniqueItems'] === true) node.uniqueItems = true
  if (schema['contains'] !== undefined && dialect !== 'draft-04') {
    const counted = !dialect.startsWith('draft-')
    node.contains = {
      node: child(schema['contains'], 'contains'),
      min: (counted ? place.number('minContains') : undefined) ?? 1,
      max: (counted ? place.number('maxContains') : undefined) ?? Number.POSITIVE_INFINITY,
    }
  }
  if (schema['unevaluatedItems'] !== undefined)
    node.unevaluatedItems = child(schema['unevaluatedItems'], 'unevaluatedItems')
}

function readObjects(node: SchemaNode, place: SchemaPlace, child: ReadChild): void {
  const { schema } = place
  const properties = place.entries('properties')
  if (properties !== undefined)
    node.properties = new Map(properties.map(([name, inner]) => [name, child(inner, 'properties', name)]))
  const patterns = place.entries('patternProperties')
  if (patterns !== undefined)
    node.patternProperties = patterns.map(([pattern, inner]) => [pattern, child(inner, 'patternProperties', pattern)])
  for (const key of ['additionalProperties', 'unevaluatedProperties', 'propertyNames'] as const)
    if (schema[key] !== undefined) node[key] = child(schema[key], key)
  // `required: true` inside a property is draft-03 and means nothing since.
  if (typeof schema['required'] !== 'boolean') {
    const required = place.list('required')
    if (required !== undefined) node.required = required.map(String)
  }
  const dependencies = place.entries('dependencies') ?? []
  const requiredBy = [
    ...(place.entries('dependentRequired') ?? []),
    ...dependencies.filter(([, inner]) => Array.isArray(inner)),
  ]
  if (requiredBy.length > 0)
    node.dependentRequired = requiredBy.map(([name, names]) => [name, (names as readonly JsonValue[]).map(String)])
  const schemasBy = [
    ...(place.entries('dependentSchemas') ?? []).map(([name, inner]) => [name, inner, 'dependentSchemas'] as const),
    ...dependencies
      .filter(([, inner]) => !Array.isArray(inner))
      .map(([name, inner]) => [name, inner, 'dependencies'] as const),
  ]
  if (schemasBy.length > 0)
    node.dependentSchemas = schemasBy.map(([name, inner, key]) => [name, child(inner, key, name)])
}

function readLogic(node: SchemaNode, place: SchemaPlace, child: ReadChild): void {
  const { schema } = place
  for (const key of ['allOf', 'anyOf', 'oneOf'] as const) {
    const branches = place.list(key)
    if (branches === undefined) continue
    const nodes = branches.map((branch, index) => child(branch, key, index))
    node[key] = key === 'allOf' ? [...(node.allOf ?? []), ...nodes] : nodes
  }
  if (schema['not'] !== undefined) node.not = child(schema['not'], 'not')
  if (schema['if'] !== undefined)
    node.if = {
      node: child(schema['if'], 'if'),
      ...(schema['then'] === undefined ? {} : { whenTrue: child(schema['then'], 'then') }),
      ...(schema['else'] === undefined ? {} : { whenFalse: child(schema['else'], 'else') }),
    }
}
