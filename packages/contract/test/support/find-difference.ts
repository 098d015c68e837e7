import { accepts, refuses } from '../../src/contain/literal.ts'
import { Search } from '../../src/contain/search.ts'
import { assertsFormat } from '../../src/schema/dialect.ts'
import type { JsonValue } from '../../src/schema/json.ts'
import type { SchemaDocument } from '../../src/schema/read-schema.ts'
import type { SchemaNode } from '../../src/schema/schema-node.ts'
import { createEvaluator } from '../../src/validate/evaluate.ts'

/** How two schemas are compared. */
export interface DifferenceOptions {
  /** Whether writers write declared members only (DECLARED), or all that an open schema allows (ANY). */
  readonly writer: 'DECLARED' | 'ANY'
  /** Whether `format` is checked by readers; by default where the dialect says so. */
  readonly format?: 'ASSERTION' | 'ANNOTATION' | undefined
  /** Goals that a search may look at before it gives up. */
  readonly mostSteps?: number | undefined
}

/** Whether a reader accepts all that a writer writes. */
export type Difference =
  | { readonly kind: 'NONE' }
  /** An example that was checked: the writer's schema accepts it and the reader's refuses it. */
  | { readonly kind: 'FOUND'; readonly example: JsonValue }
  | { readonly kind: 'UNKNOWN'; readonly reason: string }

/** Enough for unions of a dozen recursive members; a second at most. */
const defaultSteps = 20_000

/** Searches a value that one schema writes and another refuses. */
export function findDifference(
  writer: SchemaNode,
  reader: SchemaNode,
  documents: readonly SchemaDocument[],
  options: DifferenceOptions,
): Difference {
  const asserts =
    options.format === undefined
      ? documents.some(({ dialect }) => assertsFormat(dialect))
      : options.format === 'ASSERTION'
  const search = new Search({ assertsFormat: asserts, mostSteps: options.mostSteps ?? defaultSteps })
  const answer = search.solve([accepts(writer, options.writer === 'DECLARED'), refuses(reader)])
  if (answer.kind === 'NONE') return { kind: 'NONE' }
  if (answer.kind === 'UNKNOWN')
    return {
      kind: 'UNKNOWN',
      reason: search.isExhausted ? 'the schemas are too large to compare' : 'a keyword is not decidable',
    }
  const evaluate = createEvaluator({ assertsFormat: asserts })
  const isChecked = evaluate(writer, answer.value) === 'YES' && evaluate(reader, answer.value) === 'NO'
  return isChecked
    ? { kind: 'FOUND', example: answer.value }
    : { kind: 'UNKNOWN', reason: 'no example could be checked' }
}
