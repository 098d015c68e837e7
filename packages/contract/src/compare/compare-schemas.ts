import type { Answer } from '../contain/answer.ts'
import { accepts, refuses } from '../contain/literal.ts'
import { Search } from '../contain/search.ts'
import { TextSets } from '../pattern/text-set.ts'
import { checkCompatibility } from '../policy/check-compatibility.ts'
import { type CompatibilityDirection, type CompatibilityMode, directionsOf } from '../policy/compatibility-mode.ts'
import { type ContractFinding, findingOf } from '../rule/finding.ts'
import { contractRules, type RuleName } from '../rule/rules.ts'
import { assertsFormat } from '../schema/dialect.ts'
import { isJsonObject, type JsonObject, pointerKeys } from '../schema/json.ts'
import { readSchema, type SchemaDocument } from '../schema/read-schema.ts'
import { createEvaluator } from '../validate/evaluate.ts'
import { Blame } from './blame.ts'
import { notesOf } from './notes.ts'

/** The members that a writer writes: those that its schema declares, or any. */
export type SchemaWriter = 'DECLARED' | 'ANY'

/** How two versions of a schema are compared. */
export interface CompareOptions {
  /** @defaultValue `FULL` */
  readonly mode?: CompatibilityMode | undefined
  /**
   * DECLARED: writers write declared properties only, as `encodeEvent` does. ANY: whatever an open schema allows. The writers of
   * the two versions may differ.
   *
   * @defaultValue `DECLARED`
   */
  readonly writer?: SchemaWriter | { readonly older: SchemaWriter; readonly newer: SchemaWriter } | undefined
  /**
   * Whether readers check `format`.
   *
   * @defaultValue ASSERTION for dialects before 2019-09, otherwise ANNOTATION
   */
  readonly format?: 'ASSERTION' | 'ANNOTATION' | undefined
  /** Whether the schemas are of one event version: an optional property then needs a default. @defaultValue true */
  readonly isSameVersion?: boolean | undefined
  /** Makes warnings BREAKING, and what cannot be told. @defaultValue false */
  readonly strict?: boolean | undefined
}

/** Goals of a search: enough for unions of a dozen recursive members, a second at most. */
const mostSteps = 20_000

/** Goals of the search for causes, which asks many times: without one the example speaks for itself. */
const mostCauseSteps = 4_000

/**
 * Compares two versions of an event's schema by their meaning. BREAKING findings are those that the policy lists; everything
 * stricter is a WARNING. No finding means that every event of one version is accepted by readers of the other, in all
 * directions of the mode: proven, not sampled.
 *
 * @throws {@link ArgumentError} for what is no JSON Schema.
 */
export function compareSchemas(
  older: object | boolean,
  newer: object | boolean,
  options: CompareOptions = {},
): readonly ContractFinding[] {
  const { mode = 'FULL', isSameVersion = true, strict = false, writer = 'DECLARED' } = options
  const writers = typeof writer === 'string' ? { older: writer, newer: writer } : writer
  const before = readSchema(older)
  const after = readSchema(newer)
  const directions = directionsOf(mode)
  const format =
    options.format ?? ([before, after].some(({ dialect }) => assertsFormat(dialect)) ? 'ASSERTION' : 'ANNOTATION')
  const meaningsOf = (one: SchemaDocument, other: SchemaDocument): readonly ContractFinding[] =>
    directions.flatMap((direction) =>
      blame(direction, one, other, direction === 'BACKWARD' ? writers.older : writers.newer, format === 'ASSERTION'),
    )
  const meanings = meaningsOf(before, after)
  // Some readers apply the keywords that others do not see.
  const more =
    before.hidesKeywords || after.hidesKeywords
      ? meaningsOf(readSchema(older, 'APPLY'), readSchema(newer, 'APPLY')).filter(
          ({ message }) => !meanings.some((known) => known.message === message),
        )
      : []
  const findings = [
    ...defects(before, 'older'),
    ...defects(after, 'newer'),
    ...withPolicy(older, newer, mode, [...meanings, ...more]),
    ...notesOf(before.root, after.root, isSameVersion),
  ]
  return strict
    ? findings.map((finding) => (finding.severity === 'WARNING' ? { ...finding, severity: 'BREAKING' } : finding))
    : findings
}

function blame(
  direction: CompatibilityDirection,
  before: SchemaDocument,
  after: SchemaDocument,
  writer: SchemaWriter,
  checksFormat: boolean,
): readonly ContractFinding[] {
  const [written, read] = direction === 'BACKWARD' ? [before.root, after.root] : [after.root, before.root]
  const { hasResources } = direction === 'BACKWARD' ? before : after
  const isDeclared = writer === 'DECLARED' && !hasResources
  const sets = new TextSets()
  const search = new Search({ assertsFormat: checksFormat, mostSteps, sets })
  const causeSearch = new Search({ assertsFormat: checksFormat, mostSteps: mostCauseSteps, sets })
  const evaluate = createEvaluator({ assertsFormat: checksFormat })
  const find = (reader: typeof read, by: Search = causeSearch): Answer => {
    const answer = by.solve([accepts(written, isDeclared), refuses(reader)])
    // An example counts when a validator agrees with it.
    const isChecked =
      answer.kind !== 'FOUND' || (evaluate(written, answer.value) === 'YES' && evaluate(reader, answer.value) === 'NO')
    return isChecked ? answer : { kind: 'UNKNOWN' }
  }
  const at = { older: '', newer: '' }
  if (search.solve([accepts(written, isDeclared)]).kind === 'NONE')
    return [
      findingOf('nothingFits', {
        direction,
        at,
        message: `No event fits the ${direction === 'BACKWARD' ? 'older' : 'newer'} schema: it contradicts itself`,
      }),
    ]
  // No document refuses what it accepts, whatever its keywords mean.
  if (before.text !== undefined && before.text === after.text) return []
  const whole = find(read, search)
  if (whole.kind === 'NONE') return []
  const cause = new Blame({
    find,
    get isExhausted() {
      return causeSearch.isExhausted
    },
  })
  cause.at({ direction, writers: [written], reader: read, path: [], whole: (here) => here })
  if (cause.findings.length > 0) return cause.findings
  if (whole.kind === 'FOUND')
    return [
      findingOf('otherChange', {
        direction,
        at,
        message: `The event changed as the example shows; ${direction === 'BACKWARD' ? 'new readers refuse old events' : 'old readers refuse new events'}`,
        example: whole.value,
      }),
    ]
  return [
    findingOf('cannotTell', {
      direction,
      at,
      message: `It cannot be told whether ${direction === 'BACKWARD' ? 'new readers accept all old events' : 'old readers accept all new events'}`,
    }),
  ]
}

function defects({ defects: found }: SchemaDocument, side: 'older' | 'newer'): ContractFinding[] {
  return found.map(({ pointer, message }) =>
    findingOf('notASchema', {
      direction: null,
      at: { older: side === 'older' ? pointer : null, newer: side === 'newer' ? pointer : null },
      message: `${pointer} of the ${side} schema ${message}`,
    }),
  )
}

/** Returns the schema of the event's top level, which the policy looks at: a recursive schema has it behind a reference. */
function topLevelOf(document: JsonObject): JsonObject {
  let schema = document
  for (let hops = 0; hops < mostHops; hops += 1) {
    const { $ref: reference } = schema
    const target = typeof reference === 'string' ? valueAt(document, reference) : undefined
    if (target === undefined || 'properties' in schema) return schema
    schema = target
  }
  return schema
}

/** References that lead to references. */
const mostHops = 10

function valueAt(document: JsonObject, reference: string): JsonObject | undefined {
  if (!reference.startsWith('#/')) return undefined
  let value: unknown = document
  for (const key of pointerKeys(reference.slice(1)))
    value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return isJsonObject(value) ? value : undefined
}

const policyRules: readonly (readonly [RegExp, RuleName, CompatibilityDirection])[] = [
  [/^Added required fields: /, 'requiredAdded', 'BACKWARD'],
  [/^Removed required field: /, 'requiredRemoved', 'FORWARD'],
  [/^Type change for /, 'typeChanged', 'BACKWARD'],
]

/** The findings of the policy, in its words, then the stricter ones that it does not name. */
function withPolicy(
  older: object | boolean,
  newer: object | boolean,
  mode: CompatibilityMode,
  meanings: readonly ContractFinding[],
): ContractFinding[] {
  if (!isJsonObject(older) || !isJsonObject(newer)) return [...meanings]
  const named = new Set<ContractFinding>()
  const listed = checkCompatibility(topLevelOf(older), topLevelOf(newer)).flatMap((message): ContractFinding[] => {
    const [, rule = 'typeChanged', direction = 'BACKWARD'] =
      policyRules.find(([pattern]) => pattern.test(message)) ?? []
    const causes = meanings.filter((finding) => isNamedBy(finding, message))
    for (const cause of causes) named.add(cause)
    const isDemanded = mode.startsWith('FULL') || causes.length > 0
    const example = causes.find((cause) => cause.example !== undefined)?.example
    const at = causes[0]?.at ?? { older: '', newer: '' }
    const fields = { severity: 'BREAKING' as const, direction: causes[0]?.direction ?? direction, at, message }
    return isDemanded ? [findingOf(rule, example === undefined ? fields : { ...fields, example })] : []
  })
  return [...listed, ...meanings.filter((finding) => !named.has(finding))]
}

/** Tells whether a finding says of a property of the event what the policy says of it. */
function isNamedBy(finding: ContractFinding, message: string): boolean {
  const { code } = finding
  const is = (rule: RuleName): boolean => contractRules[rule].code === code
  if (message.startsWith('Added required fields: ')) {
    const name = /^(\S+) (?:was added as|became) required/.exec(finding.message)?.[1]
    return (is('requiredAdded') || is('becameRequired')) && name !== undefined && message.includes(`'${name}'`)
  }
  if (message.startsWith('Removed required field: '))
    return (
      is('requiredRemoved') &&
      finding.message.startsWith(`${message.slice('Removed required field: '.length)} was removed`)
    )
  const name = /^Type change for (.*?): /.exec(message)?.[1] ?? ''
  return is('typeChanged') && finding.message.startsWith(`type of ${name}:`)
}
