/** Resolves a position command to a target offset for each partition. */

import { ArgumentError } from '@waybill/core'
import type { Admin, TopicPartition } from '@waybill/kafka'
import type { PositionCommand, PositionTarget } from '../api/position-command.ts'
import { offsetsAt } from './log-offsets.ts'
import type { PartitionMove } from './plan-position.ts'

/** The requested move of a partition. */
export interface RequestedMove {
  readonly partition: number
  readonly move: PartitionMove
}

/**
 * Resolves timestamps and the ends of the log to offsets.
 *
 * @param farthest - the maximum distance of a skipped offset from the position
 * @throws ArgumentError for partitions that do not exist
 */
export async function resolveMoves(
  admin: Admin,
  topic: string,
  all: readonly TopicPartition[],
  command: PositionCommand,
  farthest: number,
): Promise<readonly RequestedMove[]> {
  if (command.type === 'SKIP') {
    const { partition, offsets } = command.skip
    requirePartitions(topic, all, [partition])
    return [{ partition, move: { type: 'SKIP', offsets, farthest } }]
  }
  const { type } = command
  const { to, partitions } = type === 'SEEK' ? command.seek : { to: command.reset.to, partitions: undefined }
  if (partitions === undefined && typeof to === 'object' && 'offset' in to)
    throw new ArgumentError('A seek to an offset needs partitions: the same offset is another record in each of them.')
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
  // Without a record that late, the target is the end. It is read first, so that records written in between are not
  // skipped.
  const ends = await offsetsAt(admin, partitions, 'LATEST')
  return new Map([...ends, ...(await offsetsAt(admin, partitions, to))])
}

function requirePartitions(topic: string, all: readonly TopicPartition[], numbers: readonly number[]): void {
  const unknown = numbers.filter((number) => !all.some(({ partition }) => partition === number))
  if (unknown.length > 0 || numbers.length === 0)
    throw new ArgumentError(`Topic ${topic} has ${all.length} partitions, but no partition ${unknown.join(', ')}.`)
  if (new Set(numbers).size < numbers.length) throw new ArgumentError('A partition is listed twice.')
}
