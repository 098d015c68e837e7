import type { Answer } from '../contain/answer.ts'
import { areDisjoint, tagsOf } from '../contain/tags.ts'
import { type ContractFinding, findingOf } from '../rule/finding.ts'
import type { RuleName } from '../rule/rules.ts'
import type { JsonValue } from '../schema/json.ts'
import { createNode, type SchemaNode } from '../schema/schema-node.ts'
import { changeText, consequence, shortText } from './describe.ts'
import { itemPlace, type Place, pathText, propertyPlace, withBranches, withStatic } from './place.ts'

/** Searches an event that the writer writes and a schema refuses. */
export interface RefusedSearch {
  find(reader: SchemaNode): Answer
  /** True if it took too long, and every further answer is unknown. */
  readonly isExhausted: boolean
}

/** A part of the reader's schema that can refuse on its own, and the words for it. */
interface Part {
  readonly rule: RuleName
  readonly node: SchemaNode
  readonly text: (place: Place, example: JsonValue | undefined) => string
}

/** More findings than this name no new cause. */
const mostFindings = 40

/**
 * Names the keywords of a reader's schema because of which it refuses events of a writer: each part of the schema is tried
 * alone, from the event inwards. What a part is blamed for has an example, unless no answer is known.
 */
export class Blame {
  readonly #search: RefusedSearch
  readonly #findings: ContractFinding[] = []
  readonly #seen = new Set<SchemaNode>()

  constructor(search: RefusedSearch) {
    this.#search = search
  }

  get findings(): readonly ContractFinding[] {
    return this.#findings
  }

  get #isDone(): boolean {
    return this.#findings.length >= mostFindings || this.#search.isExhausted
  }

  /** Blames the parts of a place that refuse; false if none does. */
  at(place: Place): boolean {
    const { reader } = place
    if (this.#isDone) return true
    // A recursive schema is named once, where it is met first.
    if (this.#seen.has(reader)) return true
    this.#seen.add(reader)
    let isBlamed = false
    for (const part of partsOf(place)) {
      if (this.#isDone) return true
      isBlamed = this.#try(place, part) || isBlamed
    }
    for (const inner of innerPlaces(place)) {
      if (this.#isDone) return true
      if (isSame(inner)) continue
      if (this.#search.find(inner.whole(inner.reader)).kind === 'NONE') continue
      isBlamed = this.at(inner) || isBlamed
    }
    for (const branches of [reader.anyOf, reader.oneOf])
      if (branches !== undefined) isBlamed = this.#blameUnion(place, branches, branches === reader.oneOf) || isBlamed
    return isBlamed
  }

  #try(place: Place, { rule, node, text }: Part): boolean {
    const answer = this.#search.find(place.whole(node))
    if (answer.kind === 'NONE' || (answer.kind === 'UNKNOWN' && this.#search.isExhausted)) return false
    this.#add(place, answer, rule, text)
    return true
  }

  #add(place: Place, answer: Answer, rule: RuleName, text: Part['text']): void {
    const example = answer.kind === 'FOUND' ? answer.value : undefined
    const isKnown = example !== undefined
    const words = text(place, example)
    this.#findings.push(
      findingOf(isKnown ? rule : 'cannotTell', {
        direction: place.direction,
        at: pointersOf(place),
        message: isKnown
          ? `${words}; ${consequence(place)}`
          : `${words}: it cannot be told whether ${consequence(place)}`,
        ...(isKnown ? { example } : {}),
      }),
    )
  }

  /** The branch that has the tag or the type of a writer's branch is looked into; without one the branch is missing. */
  #blameUnion(place: Place, branches: readonly SchemaNode[], isExclusive: boolean): boolean {
    const union = createNode(place.reader.pointer, isExclusive ? { oneOf: branches } : { anyOf: branches })
    const answer = this.#search.find(place.whole(union))
    if (answer.kind === 'NONE') return false
    if (isExclusive && this.#search.find(place.whole(createNode('', { anyOf: branches }))).kind === 'NONE') {
      this.#add(place, answer, 'branchesOverlap', (at) => `${pathText(at)} may fit two members of its union`)
      return true
    }
    const written = withBranches(place.writers).filter(
      ({ anyOf, oneOf, ref, allOf }) => (anyOf ?? oneOf ?? ref ?? allOf) === undefined,
    )
    let isBlamed = false
    for (const writer of written) {
      const partners = branches.filter((branch) => isPartner(writer, branch))
      const [partner] = partners
      if (partner === undefined || partners.length > 1 || written.length + branches.length === 2) continue
      // Only events of this branch: what the partner says then is not said of the others.
      const guarded = (here: SchemaNode): SchemaNode =>
        place.whole(createNode('', { anyOf: [createNode('', { not: tagNode(writer) }), here] }))
      if (this.#search.find(guarded(partner)).kind === 'NONE') continue
      isBlamed = this.at({ ...place, writers: [writer], reader: partner, whole: guarded }) || isBlamed
    }
    const orphans = written.filter((writer) => !branches.some((branch) => isPartner(writer, branch)))
    if (isBlamed && orphans.length === 0) return true
    const names = orphans.map(branchName).filter((name) => name !== '')
    this.#add(place, answer, 'branchMissing', (at) =>
      names.length === 0
        ? `${pathText(at)} fits no member of the union`
        : `${pathText(at)}: no member of the union is ${names.join(', ')}`,
    )
    return true
  }
}

/** Tells whether the writer has the same schema here, so that nothing of it can be to blame. */
function isSame({ writers, reader }: Place): boolean {
  return reader.text !== undefined && writers.length === 1 && writers[0]?.text === reader.text
}

/** Returns properties that the only writer of a place requires, so that their absence is not to blame. */
function writtenAnyway({ writers }: Place): ReadonlySet<string> {
  return new Set(writers.length === 1 ? withStatic(writers).flatMap(({ required }) => required ?? []) : [])
}

function isPartner(writer: SchemaNode, branch: SchemaNode): boolean {
  return !areDisjoint(writer, branch)
}

function branchName(node: SchemaNode): string {
  const tags = [...tagsOf(node)].map(([name, values]) => `${name} ${values.map((value) => shortText(value)).join('|')}`)
  if (tags.length > 0) return tags.join(', ')
  if (node.enum !== undefined) return node.enum.map(shortText).join(', ')
  return node.types === undefined ? '' : [...node.types].join('|')
}

/** The schema of what tells a branch from the others: its tag, or its type. */
function tagNode(node: SchemaNode): SchemaNode {
  const tags = [...tagsOf(node)]
  return createNode('', {
    ...(node.types === undefined ? {} : { types: node.types }),
    ...(tags.length === 0
      ? {}
      : {
          required: tags.map(([name]) => name),
          properties: new Map(tags.map(([name, values]) => [name, createNode('', { enum: values })])),
        }),
  })
}

function pointersOf({ direction, writers, reader }: Place): ContractFinding['at'] {
  const written = writers[0]?.pointer ?? null
  return direction === 'BACKWARD'
    ? { older: written, newer: reader.pointer }
    : { older: reader.pointer, newer: written }
}

function* innerPlaces(place: Place): Generator<Place> {
  const { reader } = place
  const same = (inner: SchemaNode): Place => ({ ...place, reader: inner })
  if (reader.ref !== undefined) yield same(reader.ref)
  for (const inner of reader.allOf ?? []) yield same(inner)
  for (const [name, inner] of reader.properties ?? []) yield propertyPlace(place, name, inner)
  for (const [index, inner] of (reader.prefixItems ?? []).entries()) yield itemPlace(place, index, inner)
  if (reader.items !== undefined && !reader.items.isNever) yield itemPlace(place, null, reader.items)
}

/** Returns the keywords of one place, each as a schema of its own. */
function* partsOf(place: Place): Generator<Part> {
  const { reader, direction } = place
  const keyword = (rule: RuleName, ...keys: readonly (keyof SchemaNode)[]): Part[] => {
    const given = keys.filter((key) => reader[key] !== undefined)
    const [first] = given
    if (first === undefined) return []
    const fields = Object.fromEntries(given.map((key) => [key, reader[key]])) as Partial<SchemaNode>
    return [
      {
        rule,
        node: createNode(reader.pointer, fields),
        text: (at) => given.map((key) => changeText(at, key)).join(', '),
      },
    ]
  }
  if (reader.isNever)
    yield { rule: 'memberChanged', node: createNode('', { isNever: true }), text: (at) => `${pathText(at)} is refused` }
  yield* typeParts(place)
  const written = writtenAnyway(place)
  for (const name of reader.required ?? []) if (!written.has(name)) yield requiredPart(place, name)
  if (reader.enum !== undefined)
    yield {
      rule: direction === 'BACKWARD' ? 'valueRemoved' : 'valueAdded',
      node: createNode('', { enum: reader.enum, ...typesOf(reader) }),
      text: (at) => valueText(at, reader),
    }
  yield* keyword('boundChanged', 'minimum')
  yield* keyword('boundChanged', 'maximum')
  yield* keyword('boundChanged', 'exclusiveMinimum')
  yield* keyword('boundChanged', 'exclusiveMaximum')
  yield* keyword('boundChanged', 'multipleOf')
  yield* keyword('lengthChanged', 'minLength')
  yield* keyword('lengthChanged', 'maxLength')
  yield* keyword('patternChanged', 'pattern')
  yield* keyword('formatChanged', 'format')
  yield* keyword('sizeChanged', 'minItems')
  yield* keyword('sizeChanged', 'maxItems')
  yield* keyword('sizeChanged', 'uniqueItems')
  yield* keyword('sizeChanged', 'minProperties')
  yield* keyword('sizeChanged', 'maxProperties')
  yield* wholeParts(place)
}

/** Keywords whose value is too large for a line. */
function* wholeParts({ reader }: Place): Generator<Part> {
  const part = (rule: RuleName, fields: Partial<SchemaNode>, text: string): Part => ({
    rule,
    node: createNode(reader.pointer, fields),
    text: (at) => `${text} of ${pathText(at)} changed`,
  })
  const { contains, items, prefixItems = [], additionalProperties, patternProperties, propertyNames } = reader
  if (contains !== undefined) yield part('memberChanged', { contains }, 'contains')
  if (items?.isNever === true)
    yield part('sizeChanged', { prefixItems: prefixItems.map(() => createNode('')), items }, 'the length')
  if (additionalProperties !== undefined)
    yield {
      rule: additionalProperties.isNever ? 'undeclaredRefused' : 'memberChanged',
      node: createNode('', {
        additionalProperties,
        properties: new Map([...(reader.properties?.keys() ?? [])].map((name) => [name, createNode('')])),
        patternProperties: (patternProperties ?? []).map(([pattern]) => [pattern, createNode('')] as const),
      }),
      text: (at, example) => undeclaredText(at, example),
    }
  if (patternProperties !== undefined) yield part('memberChanged', { patternProperties }, 'patternProperties')
  if (propertyNames !== undefined) yield part('memberChanged', { propertyNames }, 'the names of properties')
  const {
    dependentRequired,
    dependentSchemas,
    not,
    if: branch,
    unknown,
    unevaluatedItems,
    unevaluatedProperties,
  } = reader
  if (dependentRequired !== undefined) yield part('conditionChanged', { dependentRequired }, 'dependentRequired')
  if (dependentSchemas !== undefined) yield part('conditionChanged', { dependentSchemas }, 'dependentSchemas')
  if (branch !== undefined) yield part('conditionChanged', { if: branch }, 'the condition')
  if (not !== undefined) yield part('conditionChanged', { not }, 'the exclusion')
  if (unevaluatedItems !== undefined || unevaluatedProperties !== undefined)
    yield { rule: 'memberChanged', node: reader, text: (at) => `unevaluated members of ${pathText(at)} changed` }
  if (unknown !== undefined) yield part('cannotTell', { unknown }, unknown.join(', '))
}

function* typeParts(place: Place): Generator<Part> {
  const { types } = place.reader
  if (types === undefined) return
  yield {
    rule: 'typeChanged',
    node: createNode(place.reader.pointer, { types }),
    text: (at) => changeText(at, 'types').replace('types', 'type'),
  }
}

function typesOf({ types }: SchemaNode): Partial<SchemaNode> {
  return types === undefined ? {} : { types }
}

function requiredPart({ direction, writers }: Place, name: string): Part {
  const isDeclared = withBranches(writers).some(({ properties }) => properties?.has(name) === true)
  const rules: Readonly<Record<string, RuleName>> = {
    'BACKWARD true': 'becameRequired',
    'BACKWARD false': 'requiredAdded',
    'FORWARD true': 'becameOptional',
    'FORWARD false': 'requiredRemoved',
  }
  const rule = rules[`${direction} ${isDeclared}`] ?? 'requiredAdded'
  const words: Partial<Record<RuleName, string>> = {
    becameRequired: 'became required',
    requiredAdded: 'was added as required',
    becameOptional: 'became optional',
    requiredRemoved: 'was removed and was required',
  }
  return {
    rule,
    node: createNode('', { required: [name] }),
    text: (at) => `${[...at.path, name].join('.').replaceAll('.[', '[')} ${words[rule]}`,
  }
}

/** Values that a message names. */
const mostValues = 10

function valueText(place: Place, reader: SchemaNode): string {
  const known = new Set((reader.enum ?? []).map((value) => JSON.stringify(value)))
  const written = withStatic(place.writers).flatMap((node) => node.enum ?? [])
  const missing = written.filter((value) => !known.has(JSON.stringify(value)))
  const listed = shortText(reader.enum)
  if (missing.length === 0) return `${pathText(place)} may have other values than ${listed}`
  const verb = place.direction === 'BACKWARD' ? 'no longer lists' : 'also lists'
  const named = missing.slice(0, mostValues).map(shortText).join(', ')
  const others = missing.length > mostValues ? ` and ${missing.length - mostValues} more` : ''
  return `${pathText(place)} ${verb} ${named}${others}`
}

function undeclaredText(place: Place, example: JsonValue | undefined): string {
  const { reader } = place
  const written = withBranches(place.writers).flatMap(({ properties }) => [...(properties?.keys() ?? [])])
  const unknown = [...new Set(written)].filter((name) => reader.properties?.has(name) !== true)
  const which =
    unknown.length === 0 ? (example === undefined ? '' : ' such as in the example') : ` (${unknown.join(', ')})`
  return `undeclared properties of ${pathText(place)}${which} are restricted`
}
