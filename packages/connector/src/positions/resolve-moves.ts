/** Which partitions a command is for, and where each is to go. */

import { ArgumentError } from '@waybill/core'
import type { Admin, TopicPartition } from '@waybill/kafka'
import type { PositionCommand, PositionTarget } from '../api/position-command.ts'
import { offsetsAt } from './log-offsets.ts'
import type { PartitionMove } from './plan-position.ts'

/** What is asked for a partition. */
export interface AskedMove {
  readonly partition: number
  readonly move: PartitionMove
}

/**
 * Reads times and ends of the log as offsets.
 *
 * @param farthest - how far ahead of its position a record may be passed over
 * @throws ArgumentError for partitions that the topic does not have
 */
export async function resolveMoves(
  admin: Admin,
  topic: string,
  all: readonly TopicPartition[],
  command: PositionCommand,
  farthest: number,
): Promise<readonly AskedMove[]> {
  if (command.type === 'SKIP') {
    const { partition, offsets } = command.skip
    requirePartitions(topic, all, [partition])
    return [{ partition, move: { type: 'SKIP', offsets, farthest } }]
  }
  const { type } = command
  const { to, partitions } = type === 'SEEK' ? command.seek : { to: command.reset.to, partitions: undefined }
  if (partitions === undefined && typeof to === 'object' && 'offset' in to)
    throw new ArgumentError('An offset means another record in each partition: name the partitions too.')
  const numbers = partitions ?? all.map(({ partition }) => partition)
  requirePartitions(topic, all, numbers)
  const targets = await targetsOf(admin, topic, numbers, to)
  return numbers.map((partition) => ({ partition, move: { type, to: targets.get(partition) as bigint } }))
}

async function targetsOf(
  admin: Admin,
  topic: string,
  numbers: readonly number[],
  to: PositionTarget,
): Promise<ReadonlyMap<number, bigint>> {
  if (typeof to === 'object' && 'offset' in to) return new Map(numbers.map((partition) => [partition, to.offset]))
  const partitions = numbers.map((partition) => ({ topic, partition }))
  if (typeof to !== 'object') return offsetsAt(admin, partitions, to)
  // Where no record is that late, what comes next will be. Asked for first: what comes between the answers is not passed over.
  const ends = await offsetsAt(admin, partitions, 'LATEST')
  return new Map([...ends, ...(await offsetsAt(admin, partitions, to))])
}

function requirePartitions(topic: string, all: readonly TopicPartition[], numbers: readonly number[]): void {
  const unknown = numbers.filter((number) => !all.some(({ partition }) => partition === number))
  if (unknown.length > 0 || numbers.length === 0)
    throw new ArgumentError(`Topic ${topic} has ${all.length} partitions, and none called ${unknown.join(', ')}.`)
  if (new Set(numbers).size < numbers.length) throw new ArgumentError('A partition is named twice.')
}
