import { Buffer } from 'node:buffer'
import { readStoredDeadLetter } from '@waybill/connector/internal'
import { type FailureGroup, type IndexedDeadLetter, isSelectedLetter, type LogRange } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { indexedLetter } from '../dead-letters/indexed-letter.ts'
import { bindingOf, type LetterTopic } from '../dead-letters/letter-topics.ts'
import { maskJson } from '../json/mask-json.ts'
import { writeJson } from '../json/write-json.ts'
import { AdminBusyError } from '../problem/admin-errors.ts'
import { groupView } from '../resource/letter-view.ts'
import type { Call } from '../route/call.ts'
import { type Route, route } from '../route/route.ts'
import type { PayloadPolicy } from '../service/admin-options.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { eventText } from '../stream/stream-reader.ts'
import { letterQueryFields, type ReadFilter, readFilter } from './letter-query.ts'

const maxScans = 2
const recordsPerRead = 500
/** Groups that a scan keeps and answers: the largest. */
const maxGroups = 10_000
const maxAnswered = 500

/** The route of scans, which need no index. */
export function scanRoutes(services: AdminServices): readonly Route[] {
  let running = 0
  const { options, letters } = services
  return [
    route({
      id: 'scanDeadLetters',
      method: 'GET',
      path: '/eventbus/dead-letters/scan',
      tag: 'Dead letters',
      summary:
        'Reads the topics themselves and streams progress, then groups, then end, as server-sent events; q also searches values',
      access: { permission: 'dlt:read', of: 'SOME' },
      query: letterQueryFields,
      produces: 'text/event-stream',
      isStream: true,
      async run(call) {
        const read = readFilter(services, call, call.query, options.runtime.clock.now())
        const topics = (await letters.topics()).filter(({ topic, cluster }) => {
          const { filter } = read
          return (filter.topic ?? topic) === topic && (filter.cluster ?? cluster) === cluster
        })
        if (running >= maxScans) throw new AdminBusyError(`${maxScans} scans are running.`, 429, 5)
        running++
        let isRunning = true
        const release = (): void => {
          if (isRunning) running--
          isRunning = false
        }
        // A client may leave before it has read anything.
        call.signal.addEventListener('abort', release, { once: true })
        if (call.signal.aborted) release()
        return { raw: scanned(services, call, read, topics, release), headers: { 'x-accel-buffering': 'no' } }
      },
    }),
  ]
}

async function* scanned(
  services: AdminServices,
  call: Call,
  { filter }: ReadFilter,
  topics: readonly LetterTopic[],
  release: () => void,
): AsyncGenerator<string> {
  const groups = new Map<string, FailureGroup>()
  const of = topics.reduce((sum, { ranges }) => sum + sizeOf(ranges), 0n)
  let [read, matched] = [0n, 0n]
  try {
    yield eventText('progress', writeJson({ read, of, matched }))
    for (const topic of topics) {
      for await (const records of batchesOf(services, topic, call.signal)) {
        for (const record of records) {
          const letter = selectedLetter(services, call, { record, topic, filter })
          if (letter === undefined) continue
          matched++
          addTo(groups, letter)
        }
        read += BigInt(records.length)
        yield eventText('progress', writeJson({ read, of, matched }))
      }
    }
    const sorted = [...groups.values()].toSorted((one, other) => Number(other.count - one.count))
    for (const group of sorted.slice(0, maxAnswered)) yield eventText('group', writeJson(groupView(group, call)))
    yield eventText('end', writeJson({ read, matched, groups: groups.size, complete: !call.signal.aborted }))
  } finally {
    release()
  }
}

async function* batchesOf(
  { options }: AdminServices,
  { cluster, ranges }: LetterTopic,
  signal: AbortSignal,
): AsyncGenerator<readonly KafkaRecord[]> {
  const unread = ranges.filter(({ from, until }) => from < until)
  const client = options.clusters[cluster]
  if (unread.length === 0 || client === undefined) return
  await using reader = client.reader(unread)
  while (!signal.aborted) {
    const records = await reader.next(recordsPerRead)
    if (records === undefined) return
    yield records
  }
}

interface Scanned {
  readonly record: KafkaRecord
  readonly topic: LetterTopic
  readonly filter: ReadFilter['filter']
}

/** Unlike an index, a scan has the values: a text is searched in them, too, as far as the operator may see them. */
function selectedLetter(
  { options }: AdminServices,
  { grants }: Pick<Call, 'grants'>,
  { record, topic, filter: { text, ...filter } }: Scanned,
): IndexedDeadLetter | undefined {
  const letter = readStoredDeadLetter(record)
  const place = { cluster: topic.cluster, binding: bindingOf(letter, topic) }
  const indexed = indexedLetter(letter, place, { ...options.indexing, keys: true, messages: true })
  if (!isSelectedLetter(indexed, filter)) return undefined
  if (text === undefined || isSelectedLetter(indexed, { text })) return indexed
  const mask = grants.allows('payloads:raw', indexed.binding) ? [] : options.payloads.mask
  const value = searchable(letter.record.value, { ...options.payloads, mask })
  return value?.toLowerCase().includes(text.toLowerCase()) === true ? indexed : undefined
}

/** Returns a value without what its mask hides: a search must not guess it. */
function searchable(value: Uint8Array | null, { mask, notJson }: Required<PayloadPolicy>): string | undefined {
  if (value === null) return undefined
  const text = Buffer.from(value).toString('utf8')
  if (mask.length === 0) return text
  return maskJson(text, mask) ?? (notJson === 'SHOW' ? text : undefined)
}

function addTo(groups: Map<string, FailureGroup>, letter: IndexedDeadLetter): void {
  const { group, deadAtMs, binding, eventType, exception, message, frame } = letter
  const known = groups.get(group)
  if (known === undefined && groups.size >= maxGroups) return
  const isNewest = known === undefined || deadAtMs >= known.lastAtMs
  const { cluster, topic, partition, offset } = letter
  const newest = { binding, eventType, exception, message, frame, sample: { cluster, topic, partition, offset } }
  const first: FailureGroup = {
    group,
    state: 'OPEN',
    note: undefined,
    by: undefined,
    count: 0n,
    firstAtMs: deadAtMs,
    lastAtMs: deadAtMs,
    replayed: 0n,
    failedAgain: 0n,
    ...newest,
  }
  const before = known ?? first
  groups.set(group, {
    ...before,
    ...(isNewest ? newest : {}),
    count: before.count + 1n,
    firstAtMs: Math.min(before.firstAtMs, deadAtMs),
    lastAtMs: Math.max(before.lastAtMs, deadAtMs),
  })
}

function sizeOf(ranges: readonly LogRange[]): bigint {
  return ranges.reduce((sum, { from, until }) => sum + (until - from), 0n)
}
