import type { InferInput, InferOutput, StandardSchema } from '../event/standard-schema.ts'

/** A step from one version of an event's payload to the next. Made by {@link upcast}. */
export interface Upcaster<From extends StandardSchema = StandardSchema, To extends StandardSchema = StandardSchema> {
  /** Schema of the version that the step starts from. */
  readonly from: From
  /** Schema of the next version. */
  readonly to: To
  /** Takes the output of the older schema and returns the input of the newer one. */
  up(old: InferOutput<From>): InferInput<To>
}

/**
 * Declares a step between two versions of an event's payload, typed at both ends:
 * `upcast(v1, v2, ({ text, ...rest }) => ({ ...rest, body: text }))`. A step that forgets a required field does not compile.
 *
 * `up` must be total and pure: it accepts every payload of the older version, and depends on nothing else. A payload that it
 * throws for, or whose result the newer schema refuses, is a permanent failure.
 */
export function upcast<From extends StandardSchema, To extends StandardSchema>(
  from: From,
  to: To,
  up: (old: InferOutput<From>) => InferInput<To>,
): Upcaster<From, To> {
  return Object.freeze({ from, to, up })
}
