import { ArgumentError, describeThrown } from '../errors.ts'
import { UnknownEventTypeError } from '../event/event-errors.ts'
import { globalAggregateType } from '../event/event-name.ts'
import type { PayloadCodec } from '../event/payload-codec.ts'
import { requireText } from '../event/require-text.ts'
import type { InferInput, InferOutput, StandardSchema } from '../event/standard-schema.ts'
import { maxEventVersion } from '../event/version.ts'
import { createWireFormat } from '../event/wire/create-wire-format.ts'
import type { WireFormat, WireFormatName } from '../event/wire/wire-format.ts'
import { hasMethods } from '../option/has-methods.ts'
import { resolveOptions } from '../option/resolve-options.ts'
import { func, instance, integer, mapOf, nested, oneOf, optional, type Rule, text } from '../option/rule.ts'
import type { UndeclaredMembers } from './declare-payload.ts'
import { isStandardSchema } from './is-standard-schema.ts'
import type { Upcaster } from './upcaster.ts'
import { checkSteps, upcastersRule } from './upcaster-rule.ts'

/** The schemas of a catalog, by the name of the event. */
export type Schemas = Readonly<Record<string, StandardSchema>>

/** The payload a writer passes: the input of the event's schema. */
export type InputOf<S extends Schemas, N extends keyof S> = InferInput<S[N]>

/** The payload a handler receives: the output of the event's schema. */
export type PayloadOf<S extends Schemas, N extends keyof S> = InferOutput<S[N]>

/** The declaration of one event. */
export interface EventDefinition<T extends StandardSchema> {
  /** Topic it is published to. */
  readonly topic: string
  /** Any Standard Schema: zod, valibot, arktype, or a JSON Schema through `fromJsonSchema`. */
  readonly schema: T
  /** Events with the same key stay in order; null for one that needs no order. It becomes the aggregate id. */
  key(payload: InferOutput<T>): string | null
  /** Version of the schema. @defaultValue 1 */
  readonly version?: number | undefined
  /**
   * Steps from each earlier version to the next, made by {@link upcast} and keyed by the version they start from. Without them
   * the one schema reads all versions, which suits changes that break no reader.
   */
  readonly upcasters?: Readonly<Record<number, Upcaster>> | undefined
  /**
   * Converts payloads to the bytes of records, such as Avro. Rows of an outbox stay JSON. Not with the wire format ENVELOPE.
   *
   * @defaultValue none: JSON text
   */
  readonly codec?: PayloadCodec | undefined
  /** Kind of thing the event is about. @defaultValue `__GLOBAL__` */
  readonly aggregateType?: string | undefined
  /** The meaning of the event, for contract files and the console. */
  readonly description?: string | undefined
}

/** An {@link EventDefinition} with its defaults. */
export interface DefinedEvent<T extends StandardSchema> extends EventDefinition<T> {
  readonly version: number
  readonly aggregateType: string
}

/** All events a service writes or reads. Made by {@link defineEvents}; never changes. */
export interface EventCatalog<S extends Schemas> {
  readonly definitions: { readonly [N in keyof S]: DefinedEvent<S[N]> }
  readonly wireFormat: WireFormat
  /** @defaultValue `REFUSE` */
  readonly undeclared?: UndeclaredMembers
}

/** How the events of a catalog travel. */
export interface CatalogOptions {
  /** @defaultValue `JSON` */
  readonly wireFormat?: WireFormatName | undefined
  /**
   * The producer of the events: `producer_id` with ENVELOPE, `source` (a URI or a path) with CLOUDEVENTS.
   *
   * @defaultValue `waybill`
   */
  readonly producer?: string | undefined
  /**
   * Members of a payload that its schema does not declare: REFUSE the write, STRIP them, or ALLOW them. With ALLOW, adding an
   * optional property can break readers of old events. Needs a schema that can tell its JSON Schema; others are not checked.
   *
   * @defaultValue `REFUSE`
   */
  readonly undeclared?: UndeclaredMembers | undefined
}

/**
 * Declares events. The types of their payloads flow from here to writers, handlers and projections: a misspelt name or a
 * wrong payload does not compile.
 *
 * @throws {@link OptionsError} with everything that is wrong.
 */
export function defineEvents<S extends Schemas>(
  definitions: { readonly [N in keyof S]: EventDefinition<S[N]> },
  options: CatalogOptions = {},
): EventCatalog<S> {
  const resolved = resolveOptions('defineEvents', catalogRules, { definitions, options }, (checked, report) => {
    for (const [name, definition] of Object.entries(checked.definitions)) {
      const path = `definitions[${JSON.stringify(name)}]`
      checkSteps(definition, path, report)
      if (definition.codec !== undefined && checked.options.wireFormat === 'ENVELOPE')
        report(`${path}.codec`, 'needs the wire format JSON or CLOUDEVENTS: an ENVELOPE holds its payload as JSON')
    }
  })
  return Object.freeze({
    definitions: resolved.definitions as EventCatalog<S>['definitions'],
    wireFormat: createWireFormat(resolved.options.wireFormat, resolved.options.producer),
    undeclared: resolved.options.undeclared,
  })
}

const definitionRules = {
  topic: text({
    pattern: /^(?!\.{1,2}$)[\w.-]{1,249}$/,
    called: 'the name of a Kafka topic: up to 249 letters, digits, dots, underscores and hyphens',
  }),
  schema: instance<StandardSchema>('a Standard Schema (zod, valibot, arktype or fromJsonSchema)', isStandardSchema),
  key: func(),
  version: integer({ default: 1, min: 1, max: maxEventVersion, because: 'an event begins with its first version' }),
  aggregateType: text({ default: globalAggregateType, because: 'most services do not tell aggregates apart' }),
  upcasters: optional(upcastersRule),
  codec: optional(instance<PayloadCodec>('a codec, such as one of @waybill/contract/codec', isCodec)),
  description: optional(text()),
}

const catalogRules = {
  definitions: named(mapOf(nested(definitionRules))),
  options: nested({
    wireFormat: oneOf(['JSON', 'ENVELOPE', 'CLOUDEVENTS'], {
      default: 'JSON',
      because: 'the value is then the payload and nothing else, which every consumer can read',
    }),
    undeclared: oneOf(['REFUSE', 'STRIP', 'ALLOW'], {
      default: 'REFUSE',
      because: 'readers of other versions rely on events that hold declared members only',
    }),
    producer: text({
      default: 'waybill',
      because: 'ids are unique by themselves; a name of your own helps only the reader',
      pattern: /^\S+$/,
      called: 'a name or URI without blanks',
    }),
  }),
}

function isCodec(value: unknown): boolean {
  return hasMethods(value, 'recognizes', 'violations', 'encode', 'decode', 'decodeAsWritten')
}

/** Names are written into rows, keys of contract files and headers. */
function named<T>(base: Rule<Readonly<Record<string, T>>>): Rule<Readonly<Record<string, T>>> {
  return {
    ...base,
    inside(value, path, report) {
      const names = Object.keys(value as object)
      if (names.length === 0) report(path, 'must have at least one event')
      for (const name of names)
        if (name.trim() !== name || name === '' || !name.isWellFormed())
          report(
            `${path}[${JSON.stringify(name)}]`,
            'must be called by a text that is not empty and has no blanks around it',
          )
      return base.inside?.(value, path, report) as Readonly<Record<string, T>>
    },
  }
}

/**
 * The definition of an event.
 *
 * @throws {@link UnknownEventTypeError} for a name the catalog does not have.
 */
export function definitionOf<S extends Schemas>(catalog: EventCatalog<S>, name: string): DefinedEvent<StandardSchema> {
  const { definitions } = catalog
  if (!Object.hasOwn(definitions, name))
    throw new UnknownEventTypeError(requireText('The name of an event', name), Object.keys(definitions))
  return definitions[name] as unknown as DefinedEvent<StandardSchema>
}

/**
 * The key of an event. Strict, because a key that is undefined by mistake would give up the order of the events in
 * silence.
 */
export function keyOf(name: string, definition: DefinedEvent<StandardSchema>, payload: unknown): string | null {
  const key = callKey(name, (given) => definition.key(given), payload)
  if (key === null || typeof key === 'string') return key
  throw new ArgumentError(`The key of ${name} is text or null, not ${describeThrown(key)}.`, {
    hint: 'Correct the key function in its definition.',
  })
}

function callKey(name: string, keyFrom: (payload: never) => unknown, payload: unknown): unknown {
  try {
    return keyFrom(payload as never)
  } catch (cause) {
    throw new ArgumentError(`The key function of ${name} threw ${describeThrown(cause)}.`, {
      cause,
      hint: 'Correct it in the definition of the event.',
    })
  }
}
