/** The options that all codecs have. */

import type { Runtime } from '@waybill/core'
import { runtimeRule } from '@waybill/core/internal'
import { durationMs, hasMethods, instance, integer, list, nested, oneOf, type Rule, text } from '@waybill/core/option'
import type { SchemaReference, SchemaRegistry } from '../registry/schema-registry.ts'

/** A schema that the codec's own schema refers to, with its text. */
export interface ReferencedSchema extends SchemaReference {
  readonly schema: string
}

/** The options that all codecs have. */
export interface CodecOptions {
  readonly registry: SchemaRegistry
  /** The subject of the codec's schema: `orders-value`, or one for each event of a topic, such as `order.placed`. */
  readonly subject: string
  /**
   * LOOK_UP writes with a schema that is registered already, by a deployment or `register` of the registry; REGISTER
   * registers it with the first payload.
   *
   * @defaultValue `LOOK_UP`
   */
  readonly registration?: 'LOOK_UP' | 'REGISTER' | undefined
  /** The schemas that the codec's schema refers to, each after those that it needs itself. @defaultValue none */
  readonly references?: readonly ReferencedSchema[] | undefined
  /** The number of writers' schemas that are kept. @defaultValue 1000 */
  readonly maxSchemas?: number | undefined
  /** The time after which an id that the registry does not have is asked for again, before it counts as unknown. @defaultValue 500 */
  readonly confirmMissingMs?: number | undefined
  /** @defaultValue the system runtime */
  readonly runtime?: Runtime | undefined
}

const registry: Rule<SchemaRegistry> = instance('a registry, such as createRegistryClient returns', (value) =>
  hasMethods(value, 'schemaById', 'lookUp', 'register', 'version'),
)

/** {@link CodecOptions} with their defaults. */
export interface ResolvedCodecOptions {
  readonly registry: SchemaRegistry
  readonly subject: string
  readonly registration: 'LOOK_UP' | 'REGISTER'
  readonly references: readonly ReferencedSchema[]
  readonly maxSchemas: number
  readonly confirmMissingMs: number
  readonly runtime: Runtime
}

/** The rules of {@link CodecOptions}. */
export const codecRules: { readonly [N in keyof ResolvedCodecOptions]: Rule<ResolvedCodecOptions[N]> } = {
  registry,
  subject: text(),
  registration: oneOf(['LOOK_UP', 'REGISTER'], {
    default: 'LOOK_UP',
    because: 'a schema that consumers have to read should be released, not appear with the first event',
  }),
  references: list(
    nested({ name: text(), subject: text(), version: integer({ min: 1 }), schema: text() }) as Rule<ReferencedSchema>,
    { default: [], because: 'most schemas stand alone' },
  ),
  maxSchemas: integer({ default: 1_000, min: 1, max: 100_000, because: 'a topic has few schemas' }),
  confirmMissingMs: durationMs({
    default: 500,
    min: 0,
    max: 60_000,
    because: 'nodes of a registry learn of new schemas within milliseconds',
  }),
  runtime: runtimeRule,
}

/** The treatment of 64-bit integers, which JavaScript's numbers cannot all hold. */
export type LongTreatment = 'NUMBER' | 'STRING'

/** The rule of {@link LongTreatment}. */
export const longsRule: Rule<LongTreatment> = oneOf(['NUMBER', 'STRING'], {
  default: 'NUMBER',
  because: 'amounts and counts fit; what does not fit is refused, never rounded',
})

/** Accepts the object of a library with these members. */
export function libraryRule<T>(called: string, ...members: readonly string[]): Rule<T> {
  return instance<T>(called, (value) => {
    const object = Object(value) as Readonly<Record<string, unknown>>
    return members.every((member) => ['object', 'function'].includes(typeof object[member]))
  })
}
