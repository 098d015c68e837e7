import { matchesText } from '../pattern/matches-text.ts'
import { isJsonObject, type JsonValue, jsonTypeOf } from '../schema/json.ts'
import { listHas } from '../schema/listed-values.ts'
import type { SchemaNode } from '../schema/schema-node.ts'
import { isMultipleOf } from './decimal.ts'
import { evaluateItems, evaluateProperties } from './evaluate-members.ts'
import { formatTexts } from './format-texts.ts'
import { all, any, count, opposite, type Verdict, verdictOf } from './verdict.ts'

/** How values are judged. */
export interface EvaluateOptions {
  /** Whether `format` is checked. */
  readonly assertsFormat: boolean
}

/** Judges a value by a schema. */
export type Evaluate = (node: SchemaNode, value: JsonValue) => Verdict

/** Values that are nested deeper are not judged. */
const deepest = 300

/** Returns a validator. It says UNKNOWN for what it cannot judge: unknown keywords, formats that validators disagree about. */
export function createEvaluator(options: EvaluateOptions): Evaluate {
  return (node, value) => new Evaluation(options).of(node, value, 0)
}

/** The judgement of one value. Schemas that lead to each other in many ways judge the same member again and again. */
class Evaluation {
  readonly #options: EvaluateOptions
  readonly #known = new Map<JsonValue, Map<SchemaNode, Verdict>>()

  constructor(options: EvaluateOptions) {
    this.#options = options
  }

  of(node: SchemaNode, value: JsonValue, depth: number): Verdict {
    if (node.isNever) return 'NO'
    if (depth > deepest) return 'UNKNOWN'
    if (!hasLogic(node)) return this.#judge(node, value, depth)
    const verdicts = this.#known.get(value) ?? new Map<SchemaNode, Verdict>()
    this.#known.set(value, verdicts)
    const known = verdicts.get(node)
    if (known !== undefined) return known
    // A reference that leads back to its own value never ends.
    verdicts.set(node, 'UNKNOWN')
    const verdict = this.#judge(node, value, depth)
    verdicts.set(node, verdict)
    return verdict
  }

  #judge(node: SchemaNode, value: JsonValue, depth: number): Verdict {
    const inPlace = (inner: SchemaNode): Verdict => this.of(inner, value, depth + 1)
    return all(judge(node, value, inPlace, (inner, member) => this.of(inner, member, depth + 1), this.#options))
  }
}

function hasLogic({ ref, allOf, anyOf, oneOf, not, if: branch, dependentSchemas }: SchemaNode): boolean {
  return (ref ?? allOf ?? anyOf ?? oneOf ?? not ?? branch ?? dependentSchemas) !== undefined
}

function* judge(
  node: SchemaNode,
  value: JsonValue,
  inPlace: (inner: SchemaNode) => Verdict,
  member: Evaluate,
  options: EvaluateOptions,
): Generator<Verdict> {
  if (node.types !== undefined) yield verdictOf(hasType(node, value))
  if (node.enum !== undefined) yield verdictOf(listHas(node.enum, value))
  if (typeof value === 'number') yield verdictOf(fitsNumber(node, value))
  if (typeof value === 'string') yield* judgeText(node, value, options)
  if (Array.isArray(value)) yield* evaluateItems(node, value as readonly JsonValue[], inPlace, member)
  if (isJsonObject(value)) yield* evaluateProperties(node, value, inPlace, member)
  yield* judgeLogic(node, inPlace)
  if (node.unknown !== undefined) yield 'UNKNOWN'
}

/** Tells whether a value has one of the types of a schema. */
export function hasType({ types }: SchemaNode, value: JsonValue): boolean {
  const type = jsonTypeOf(value)
  if (types === undefined) return true
  return (
    (type !== undefined && types.has(type)) ||
    (typeof value === 'number' && types.has('integer') && Number.isInteger(value))
  )
}

function fitsNumber(node: SchemaNode, value: number): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = node
  return (
    (minimum === undefined || value >= minimum) &&
    (maximum === undefined || value <= maximum) &&
    (exclusiveMinimum === undefined || value > exclusiveMinimum) &&
    (exclusiveMaximum === undefined || value < exclusiveMaximum) &&
    (multipleOf === undefined || isMultipleOf(value, multipleOf))
  )
}

function* judgeText(node: SchemaNode, value: string, options: EvaluateOptions): Generator<Verdict> {
  if (node.minLength !== undefined || node.maxLength !== undefined) {
    const length = Array.from(value).length
    yield verdictOf(length >= (node.minLength ?? 0) && length <= (node.maxLength ?? Number.POSITIVE_INFINITY))
  }
  if (node.pattern !== undefined) yield matches(node.pattern, value)
  if (node.format !== undefined && options.assertsFormat) yield fitsFormat(node.format, value)
}

function matches(pattern: string, value: string): Verdict {
  const answer = matchesText(pattern, value)
  return answer === undefined ? 'UNKNOWN' : verdictOf(answer)
}

function fitsFormat(format: string, value: string): Verdict {
  const texts = formatTexts.get(format)
  if (texts === undefined) return 'UNKNOWN'
  if (matches(texts.surely, value) === 'YES') return 'YES'
  return matches(texts.perhaps, value) === 'NO' ? 'NO' : 'UNKNOWN'
}

function* judgeLogic(node: SchemaNode, inPlace: (inner: SchemaNode) => Verdict): Generator<Verdict> {
  if (node.ref !== undefined) yield inPlace(node.ref)
  if (node.allOf !== undefined) yield all(node.allOf.map(inPlace))
  if (node.anyOf !== undefined) yield any(node.anyOf.map(inPlace))
  if (node.oneOf !== undefined) yield count(node.oneOf.map(inPlace), 1, 1)
  if (node.not !== undefined) yield opposite(inPlace(node.not))
  if (node.if !== undefined) {
    const { node: condition, whenTrue: then, whenFalse: otherwise } = node.if
    const holds = inPlace(condition)
    const thenVerdict = then === undefined ? 'YES' : inPlace(then)
    const elseVerdict = otherwise === undefined ? 'YES' : inPlace(otherwise)
    if (holds === 'YES') yield thenVerdict
    else if (holds === 'NO') yield elseVerdict
    else yield thenVerdict === elseVerdict ? thenVerdict : 'UNKNOWN'
  }
}
