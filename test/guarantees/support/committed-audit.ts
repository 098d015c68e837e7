/**
 * The loss audit without Waybill's code: one request for a group's offsets, and arithmetic over the metadata of each.
 */

import { Buffer } from 'node:buffer'
import { type KafkaClient, requireAllDone, type TopicPartition } from '@waybill/kafka'

/** The parsed commit of a group for a partition. */
export interface AuditedPartition extends TopicPartition {
  readonly committed: bigint
  /** Returns a count by letter: `o`, `r`, `d`, … ; 0 for an absent one. */
  readonly count: (letter: string) => bigint
  /** Returns true when the commit declares this offset of the source, or of the waiting topic, settled. */
  readonly isSettled: (offset: bigint, of: 'SOURCE' | 'WAITING') => boolean
  /** Equations that do not hold. */
  readonly broken: readonly string[]
}

/** Reads every partition of these that has a commit. */
export async function committedAudit(
  kafka: KafkaClient,
  groupId: string,
  partitions: readonly TopicPartition[],
): Promise<AuditedPartition[]> {
  const offsets = requireAllDone('Reading what is committed', await kafka.admin.groupOffsets(groupId, partitions))
  return offsets.flatMap(({ topic, partition, committed, metadata }) =>
    committed === null ? [] : [{ topic, partition, ...takeApart(committed, metadata ?? '') }],
  )
}

function takeApart(committed: bigint, metadata: string): Omit<AuditedPartition, keyof TopicPartition> {
  const [version, ...pairs] = metadata.split(' ')
  const fields = new Map(pairs.map((pair) => pair.split(/=(.*)/s, 2) as [string, string]))
  const count = (letter: string): bigint => BigInt(fields.get(letter) ?? 0)
  const size = (letter: string): bigint => BigInt(bitsOf(fields.get(letter) ?? ''))
  const sum = (prefix: string): bigint =>
    ['o', 'r', 'd', 'k', 'h'].reduce((all, letter) => all + count(prefix + letter), 0n)
  const equations = [
    { name: 'source', due: committed - count('s') + size('b'), found: sum('') },
    { name: 'waiting', due: count('w') - count('ws') + size('wb'), found: sum('w') },
    { name: 'originals', due: count('r') + count('wp'), found: count('wo') + count('wd') + count('wn') },
  ]
  const holding = fields.has('w') ? equations : equations.slice(0, 1)
  const broken = holding
    .filter(({ due, found }) => due !== found)
    .map((one) => `${one.name}: ${one.due} ≠ ${one.found}`)
  const isSettled: AuditedPartition['isSettled'] = (offset, of) => {
    const [position, set] = of === 'SOURCE' ? [committed, 'b'] : [count('w'), 'wb']
    return offset < position || hasBit(fields.get(set) ?? '', Number(offset - position) - 1)
  }
  return { committed, count, isSettled, broken: version === 'wb1' ? broken : [`no metadata of ours: ${metadata}`] }
}

/** The lowest bit of a byte comes first. */
function hasBit(text: string, index: number): boolean {
  return index >= 0 && (((Buffer.from(text, 'base64url')[index >> 3] ?? 0) >> (index & 7)) & 1) === 1
}

function bitsOf(text: string): number {
  return Buffer.from(text, 'base64url').reduce((bits, byte) => bits + byte.toString(2).replaceAll('0', '').length, 0)
}
