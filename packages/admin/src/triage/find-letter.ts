import type { StoredDeadLetter } from '@waybill/connector'
import { readStoredDeadLetter } from '@waybill/connector/internal'
import type { DeadLetterRef, IndexedDeadLetter } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { indexedLetter } from '../dead-letters/indexed-letter.ts'
import { bindingOf, type IndexedBinding } from '../dead-letters/letter-topics.ts'
import { AdminNotFoundError, DeadLetterGoneError } from '../problem/admin-errors.ts'
import { parseLetterId } from '../resource/letter-id.ts'
import { idOf } from '../resource/letter-view.ts'
import type { Call } from '../route/call.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { mayRead } from './letter-query.ts'

/** A dead letter as its topic holds it, and as the index knows it. */
export interface FoundLetter {
  readonly id: string
  readonly record: KafkaRecord
  readonly letter: StoredDeadLetter
  readonly indexed: IndexedDeadLetter
  /** The binding that it belongs to; undefined if it is none of this process. */
  readonly binding: IndexedBinding | undefined
}

/**
 * Reads the dead letter of a path from its topic.
 * @throws AdminNotFoundError, also for one that the operator may not see; DeadLetterGoneError
 */
export async function findLetter(services: AdminServices, call: Call): Promise<FoundLetter> {
  const ref = refOf(call)
  const { letters, options } = services
  const topic = (await letters.topics()).find((one) => one.cluster === ref.cluster && one.topic === ref.topic)
  const range = topic?.ranges.find(({ partition }) => partition === ref.partition)
  const client = options.clusters[ref.cluster]
  if (topic === undefined || range === undefined || client === undefined || ref.offset >= range.until)
    throw missing(ref)
  if (ref.offset < range.from) {
    const known = await letters.index.get(ref)
    if (!mayRead(call, known?.binding)) throw missing(ref)
    throw new DeadLetterGoneError(idOf(ref), range.from)
  }
  await using reader = client.reader([{ ...range, from: ref.offset, until: ref.offset + 1n }])
  const [record] = (await reader.next(1)) ?? []
  if (record === undefined) throw missing(ref)
  const letter = readStoredDeadLetter(record)
  const key = bindingOf(letter, topic)
  if (!mayRead(call, key)) throw missing(ref)
  const read = indexedLetter(letter, { cluster: ref.cluster, binding: key }, options.indexing)
  const known = await letters.index.get(ref)
  const indexed = { ...read, state: known?.state ?? read.state, operation: known?.operation }
  return { id: idOf(ref), record, letter, indexed, binding: topic.bindings.find((one) => one.key === key) }
}

/** @throws AdminNotFoundError if the path has no id of a dead letter */
function refOf({ params }: Call): DeadLetterRef {
  const id = parseLetterId(params['id'] ?? '')
  if (id === undefined)
    throw new AdminNotFoundError('This is no id of a dead letter.', 'An id is {topic}:{partition}:{offset}.')
  return { ...id, cluster: id.cluster ?? 'default' }
}

function missing(ref: DeadLetterRef): AdminNotFoundError {
  return new AdminNotFoundError(`There is no dead letter ${idOf(ref)}, or not for you.`)
}
