import type { EventCatalog, Schemas } from '@waybill/core'
import { ArgumentError } from '@waybill/core'
import { definitionOf, versionsOf } from '@waybill/core/internal'
import { inputSchemaOf } from '../file/contract-file.ts'
import { dialectOf } from '../schema/dialect.ts'
import { canonicalText, type JsonObject } from '../schema/json.ts'
import { moveReferences } from './move-references.ts'
import { headerSchema, payloadPath, type ShapedEvent, valueSchema } from './wire-shape.ts'

/** The parts of an AsyncAPI document that a catalog does not know. */
export interface AsyncApiOptions {
  readonly title: string
  /** Version of the document, such as that of the service. @defaultValue `1.0.0` */
  readonly version?: string | undefined
  readonly description?: string | undefined
  /** Clusters by name. @defaultValue none */
  readonly servers?: Readonly<Record<string, AsyncApiServer>> | undefined
  /** Events that the service publishes; `*` for all. @defaultValue none */
  readonly sends?: readonly string[] | undefined
  /** Events that the service consumes; `*` for all. @defaultValue none */
  readonly receives?: readonly string[] | undefined
}

/** A Kafka cluster in an AsyncAPI document. */
export interface AsyncApiServer {
  /** Host and port: `kafka.example.com:9092`. */
  readonly host: string
  readonly protocol: 'kafka' | 'kafka-secure'
  readonly description?: string | undefined
}

/**
 * Returns the AsyncAPI 3.0 document of event catalogs: topics as channels, and the records of each version of an event as a
 * message, with key, headers and payload as they are on the wire. An event may be in several catalogs.
 *
 * @throws {@link ArgumentError} for a schema that cannot tell its JSON Schema, an event that no catalog has, and two catalogs
 * that declare an event in different ways.
 */
export function asyncApiOf(
  catalogs: EventCatalog<Schemas> | readonly EventCatalog<Schemas>[],
  options: AsyncApiOptions,
): JsonObject {
  const { title, version = '1.0.0', description, servers = {}, sends = [], receives = [] } = options
  const messages = messagesOf('definitions' in catalogs ? [catalogs] : catalogs)
  const topics = [...new Set(messages.map(({ topic }) => topic))]
  requireKnown([...sends, ...receives], messages)
  const channels = topics.map((topic): [string, JsonObject] => [
    topic,
    { address: topic, messages: referencesByKey(messages.filter((message) => message.topic === topic)) },
  ])
  const operations = topics.flatMap((topic) => [
    ...operationOf('send', topic, messages, (message) => message.isNewest && isNamed(sends, message)),
    ...operationOf('receive', topic, messages, (message) => isNamed(receives, message)),
  ])
  return {
    asyncapi: '3.0.0',
    info: { title, version, ...(description === undefined ? {} : { description }) },
    defaultContentType: 'application/json',
    ...(Object.keys(servers).length === 0 ? {} : { servers: JSON.parse(JSON.stringify(servers)) as JsonObject }),
    channels: Object.fromEntries(channels),
    ...(operations.length === 0 ? {} : { operations: Object.fromEntries(operations) }),
    components: { messages: Object.fromEntries(messages.map(({ key, message }) => [key, message])) },
  }
}

/** A version of an event, and its message object in the document. */
interface DescribedVersion {
  readonly key: string
  readonly event: string
  readonly topic: string
  readonly isNewest: boolean
  readonly message: JsonObject
}

function messagesOf(catalogs: readonly EventCatalog<Schemas>[]): readonly DescribedVersion[] {
  const messages = new Map<string, DescribedVersion>()
  const keys = new Set<string>()
  for (const catalog of catalogs)
    for (const event of Object.keys(catalog.definitions))
      for (const { version, step } of versionsOf(catalog, event)) {
        const id = JSON.stringify([event, version])
        const earlier = messages.get(id)
        const key = earlier?.key ?? unusedKey(step === null ? event : `${event}.v${version}`, keys)
        const found = messageOf(catalog, event, version, key)
        if (earlier !== undefined && canonicalText(earlier) !== canonicalText(found))
          throw new ArgumentError(`Two catalogs declare ${event} version ${version} in different ways.`, {
            hint: 'Import the schema of one catalog in the other.',
          })
        messages.set(id, found)
      }
  return [...messages.values()]
}

function messageOf(catalog: EventCatalog<Schemas>, event: string, version: number, key: string): DescribedVersion {
  const { topic, description, aggregateType, codec } = definitionOf(catalog, event)
  const { name: format } = catalog.wireFormat
  const known = versionsOf(catalog, event).find((each) => each.version === version)
  const mediaType = codec?.mediaType ?? 'application/json'
  const shaped: ShapedEvent = { event, version, aggregateType, mediaType }
  const { schema, schemaFormat } = payloadSchemaOf(event, known?.schema ?? {})
  const place = ['#', 'components', 'messages', key, 'payload', 'schema', ...payloadPath[format]].join('/')
  const payload = moveReferences(schema, place) as JsonObject
  return {
    key,
    event,
    topic,
    isNewest: known?.step === null,
    message: {
      name: event,
      title: version === 1 && known?.step === null ? event : `${event} version ${version}`,
      ...(description === undefined ? {} : { description }),
      contentType: mediaType,
      headers: headerSchema(format, shaped),
      payload: { schemaFormat, schema: valueSchema(format, shaped, payload) },
      bindings: {
        kafka: {
          key: { type: format === 'ENVELOPE' ? 'string' : ['string', 'null'] },
          ...(codec === undefined ? {} : { schemaIdLocation: 'payload', schemaIdPayloadEncoding: 'confluent' }),
          bindingVersion: '0.5.0',
        },
      },
      'x-waybill': { event, version },
    },
  }
}

/** Tools of AsyncAPI read draft-07, so that dialect is asked for first. */
function payloadSchemaOf(
  event: string,
  schema: object,
): { readonly schema: JsonObject; readonly schemaFormat: string } {
  const { $schema, ...found } = inDraft07(event, schema) ?? inputSchemaOf(event, schema)
  const dialect = dialectOf($schema === undefined ? found : { $schema }) ?? '2020-12'
  const version = dialect.startsWith('draft-') ? dialect : `draft-${dialect}`
  return { schema: found, schemaFormat: `application/schema+json;version=${version}` }
}

function inDraft07(event: string, schema: object): JsonObject | undefined {
  try {
    return inputSchemaOf(event, schema, 'draft-07')
  } catch {
    return undefined // The library may know the newer dialect alone, which is asked for then.
  }
}

function referencesByKey(messages: readonly DescribedVersion[]): JsonObject {
  return Object.fromEntries(messages.map(({ key }) => [key, { $ref: `#/components/messages/${key}` }]))
}

function operationOf(
  action: 'send' | 'receive',
  topic: string,
  all: readonly DescribedVersion[],
  isMeant: (message: DescribedVersion) => boolean,
): [string, JsonObject][] {
  const meant = all.filter((message) => message.topic === topic && isMeant(message))
  if (meant.length === 0) return []
  const channel = { $ref: `#/channels/${topic}` }
  const messages = meant.map(({ key }) => ({ $ref: `#/channels/${topic}/messages/${key}` }))
  return [[`${action}.${topic}`, { action, channel, messages }]]
}

function isNamed(names: readonly string[], { event }: DescribedVersion): boolean {
  return names.includes('*') || names.includes(event)
}

function requireKnown(names: readonly string[], messages: readonly DescribedVersion[]): void {
  const unknown = names.find((name) => name !== '*' && !messages.some(({ event }) => event === name))
  if (unknown === undefined) return
  throw new ArgumentError(`No catalog has the event ${JSON.stringify(unknown)}.`, {
    hint: 'Name an event as `defineEvents` does, or * for all.',
  })
}

/** Keys of components are letters, digits, dots, hyphens and underscores. */
function unusedKey(name: string, used: Set<string>): string {
  const plain = name.replaceAll(/[^\w.-]/g, '_')
  let key = plain
  for (let count = 2; used.has(key); count += 1) key = `${plain}-${count}`
  used.add(key)
  return key
}
