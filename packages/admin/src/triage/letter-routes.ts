import { Buffer } from 'node:buffer'
import { RecordHeaders } from '@waybill/core'
import type { DeadLetterFacet } from '@waybill/core/internal'
import { stackOf, traceparentOf } from '../dead-letters/letter-facts.ts'
import { instantOf } from '../json/write-json.ts'
import { AdminRequestError } from '../problem/admin-errors.ts'
import { pageFields } from '../resource/answer-schemas.ts'
import { facetView, idOf, letterView, showsPayloads, sourceView } from '../resource/letter-view.ts'
import { type Call, requirePermission } from '../route/call.ts'
import { type Route, route } from '../route/route.ts'
import { list } from '../schema/composite-schemas.ts'
import { about, withDefault } from '../schema/schema.ts'
import { oneOf } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { bytesView, headerView, textView, valueView } from '../service/payload-view.ts'
import { type FoundLetter, findLetter } from './find-letter.ts'
import { headerClassOf } from './header-class.ts'
import { letterQueryFields, readFilter, readLetterCursor, resolvedView, writeLetterCursor } from './letter-query.ts'
import { facetsSchema, letterDetailSchema, lettersSchema } from './letter-schemas.ts'

const tag = 'Dead letters'
const facets = ['event', 'exception', 'binding', 'reason', 'state'] as const
/** Dead letters of one record that are shown with it. */
const maxHistory = 100

/** Routes of single dead letters, of all bindings. */
export function letterRoutes(services: AdminServices): readonly Route[] {
  return [listRoute(services), facetsRoute(services), detailRoute(services), rawRoute(services)]
}

function listRoute(services: AdminServices): Route {
  const { letters, options } = services
  return route({
    id: 'listDeadLetters',
    method: 'GET',
    path: '/eventbus/dead-letters',
    tag,
    summary: 'Lists dead letters of all bindings, newest first',
    access: { permission: 'dlt:read', of: 'SOME' },
    query: { ...letterQueryFields, ...pageFields },
    answer: lettersSchema,
    async run(call) {
      const { limit, cursor, ...query } = call.query
      const from = readLetterCursor(cursor, query, 'LETTERS')
      const read = readFilter(services, call, query, from.nowMs ?? options.runtime.clock.now())
      await letters.current()
      const { items, next, total } = await letters.index.query(read.filter, { limit, cursor: from.cursor })
      return {
        body: {
          items: items.map((letter) => letterView(letter, call)),
          next: writeLetterCursor(next, read.nowMs, query),
          ...(total === undefined ? {} : { total: { count: total.count, exact: total.isExact } }),
          filter: resolvedView(read),
          source: sourceView(await letters.source()),
        },
      }
    },
  })
}

function facetsRoute(services: AdminServices): Route {
  const { letters, options } = services
  return route({
    id: 'countDeadLetters',
    method: 'GET',
    path: '/eventbus/dead-letters/facets',
    tag,
    summary: 'Counts dead letters by their values: at most 50 of each, and the others',
    access: { permission: 'dlt:read', of: 'SOME' },
    query: {
      ...letterQueryFields,
      by: withDefault(about('Separated by commas.', list(oneOf(facets), { min: 1, max: 5 })), [...facets]),
    },
    answer: facetsSchema,
    async run(call) {
      const { by, ...query } = call.query
      const read = readFilter(services, call, query, options.runtime.clock.now())
      await letters.current()
      const counts = await letters.index.facets(read.filter, by.map(facetOf))
      const views = by.map((name) => [name, facetView(counts[facetOf(name)] ?? { values: [], other: 0n })])
      return {
        body: {
          facets: Object.fromEntries(views),
          filter: resolvedView(read),
          source: sourceView(await letters.source()),
        },
      }
    },
  })
}

function facetOf(name: (typeof facets)[number]): DeadLetterFacet {
  return name === 'event' ? 'eventType' : name
}

function detailRoute(services: AdminServices): Route {
  const { payloadReads } = services
  return route({
    id: 'getDeadLetter',
    method: 'GET',
    path: '/eventbus/dead-letters/{id}',
    tag,
    summary: 'Shows a dead letter with its error, its attempts and its history',
    access: { permission: 'dlt:read', of: 'SOME' },
    answer: letterDetailSchema,
    async run(call) {
      const found = await findLetter(services, call)
      const view = (isShown: boolean): Promise<object> => detailView(services, call, found, isShown)
      const headers = { etag: etagOf(found) }
      const binding = found.indexed.binding
      if (!showsPayloads(call, binding)) return { headers, body: await view(false) }
      return { headers, body: await payloadReads.read(call, binding ?? found.id, found.id, () => view(true)) }
    },
  })
}

/** Returns the version of a dead letter: a replay or a triage changes it. */
export function etagOf({ indexed: { replayCount, state } }: Pick<FoundLetter, 'indexed'>): string {
  return `"${replayCount}-${state}"`
}

async function detailView(services: AdminServices, call: Call, found: FoundLetter, isShown: boolean): Promise<object> {
  const { payloads, traceUrl } = services.options
  const { letter, indexed } = found
  const { record } = letter
  const rule = { isShown, policy: payloads }
  const summary = letterView(indexed, call) as { readonly original: object }
  return {
    ...summary,
    original: { ...summary.original, stillThere: await isStillThere(services, found) },
    error: {
      class: record.lastExceptionClass,
      message: textView(record.lastExceptionMessage ?? null, isShown),
      stack: textView(stackOf(letter) ?? null, isShown),
    },
    attempts: record.tierHistory.map(({ tier, attempts, exceptionClass, exhaustedAt }) => ({
      tier,
      attempts,
      exception: exceptionClass,
      exhaustedAt: instantOf(exhaustedAt),
    })),
    trace: traceView(traceparentOf(letter), traceUrl),
    key: bytesView(record.key, isShown),
    value: valueView(record.value, rule),
    headers: Array.from(record.headers, ([name, value]) => ({
      name,
      class: headerClassOf(name),
      value: headerView(name, value, rule),
    })),
    history: await historyOf(services, call, found),
    keyState: keyStateOf(services, found),
    actions: actionsOf(services, call, found),
  }
}

/** Returns null without a key or `orderingMode: KEY`, and while another process reads the partition. */
function keyStateOf({ connector }: AdminServices, { binding, indexed, record: { key } }: FoundLetter): object | null {
  const { originalTopic: topic, originalPartition: partition } = indexed
  if (connector === undefined || binding === undefined || key === null) return null
  return connector.admin.keyState(binding.label, { topic, partition, key }) ?? null
}

/** Returns whether the source topic still holds the record; null if that cannot be told. */
async function isStillThere({ options }: AdminServices, { indexed }: FoundLetter): Promise<boolean | null> {
  const { cluster, originalTopic, originalPartition, originalOffset } = indexed
  const client = options.clusters[cluster]
  if (client === undefined || originalTopic === '' || originalOffset < 0n) return null
  const at = [{ topic: originalTopic, partition: originalPartition }]
  try {
    const [[start], [end]] = await Promise.all([
      client.admin.listOffsets(at, 'EARLIEST'),
      client.admin.listOffsets(at, 'LATEST'),
    ])
    if (start?.outcome !== 'DONE' || end?.outcome !== 'DONE') return null
    return originalOffset >= (start.offset ?? 0n) && originalOffset < (end.offset ?? 0n)
  } catch {
    // The dead letter is worth showing without this.
    return null
  }
}

function traceView(traceparent: string | undefined, urlOf: AdminServices['options']['traceUrl']): object | null {
  const [, traceId, spanId] = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-/.exec(traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined) return null
  return { traceId, spanId, url: urlOf?.({ traceId, spanId }) ?? null }
}

/** The dead letters of the same record and of its copies, newest first. */
async function historyOf({ letters }: AdminServices, { grants }: Call, { indexed }: FoundLetter): Promise<object[]> {
  const { cluster, eventId, originalTopic: topic, originalPartition: partition, originalOffset: offset } = indexed
  const page = { limit: maxHistory }
  const [ofRecord, ofEvent] = await Promise.all([
    offset < 0n ? undefined : letters.index.query({ cluster, original: { topic, partition, offset } }, page),
    eventId === undefined ? undefined : letters.index.query({ cluster, eventId }, page),
  ])
  const all = new Map([...(ofRecord?.items ?? []), ...(ofEvent?.items ?? [])].map((one) => [idOf(one), one]))
  return [...all.values()]
    .filter(({ binding }) => grants.allows('dlt:read', binding))
    .toSorted((one, other) => other.deadAtMs - one.deadAtMs)
    .map((one) => ({
      id: idOf(one),
      state: one.state,
      deadAt: instantOf(one.deadAtMs),
      replayCount: one.replayCount,
    }))
}

function actionsOf({ options }: AdminServices, { grants }: Call, { binding, indexed }: FoundLetter): object {
  const because = (permission: 'dlt:replay' | 'dlt:edit' | 'dlt:release'): string | undefined => {
    if (binding === undefined) return 'It belongs to no binding of this server.'
    if (indexed.state !== 'OPEN') return `Its state is ${indexed.state}.`
    if (!grants.allows(permission, binding.key)) return `You lack ${permission}.`
    return permission === 'dlt:edit' && options.editing === false ? 'Editing is off on this server.' : undefined
  }
  return {
    replay: actionView(because('dlt:replay')),
    edit: actionView(because('dlt:edit')),
    release: actionView(because('dlt:release')),
  }
}

function actionView(because: string | undefined): object {
  return because === undefined ? { allowed: true } : { allowed: false, because }
}

function rawRoute(services: AdminServices): Route {
  const { payloadReads, options } = services
  return route({
    id: 'downloadDeadLetter',
    method: 'GET',
    path: '/eventbus/dead-letters/{id}/raw',
    tag,
    summary: 'Downloads the bytes of a dead letter as they lie in its topic; with a mask it needs payloads:raw',
    access: { permission: 'payloads:read', of: 'SOME' },
    query: { part: withDefault(oneOf(['value', 'key', 'headers']), 'value') },
    produces: 'application/octet-stream',
    async run(call) {
      const found = await findLetter(services, call)
      const { binding } = found.indexed
      requirePermission(call, 'payloads:read', binding)
      const { mask, maskHeaders } = options.payloads
      const { part } = call.query
      if (part === 'headers' ? maskHeaders.length > 0 : mask.length > 0)
        requirePermission(call, 'payloads:raw', binding)
      const raw = await payloadReads.read(call, binding ?? found.id, `${found.id} ${part}`, async () =>
        bytesOf(found, part),
      )
      if (raw === null) throw new AdminRequestError(`The ${part} of this dead letter is null.`)
      const name = `${found.id.replaceAll(':', '-')}.${part}`
      return { raw, headers: { 'content-disposition': `attachment; filename="${name.replace(/[^\w.-]/g, '_')}"` } }
    },
  })
}

/** Headers are JSON: names and values in base64, in their order. */
function bytesOf({ record }: FoundLetter, part: 'value' | 'key' | 'headers'): Buffer | null {
  if (part !== 'headers') return record[part]
  const pairs = Array.from(RecordHeaders.from(record.headers), ([name, value]) => [
    name,
    value === null ? null : value.toString('base64'),
  ])
  return Buffer.from(JSON.stringify(pairs))
}
