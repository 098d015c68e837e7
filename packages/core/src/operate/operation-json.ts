/** Progress and ranges as stored JSON: 64-bit numbers are decimal text. Versions beside this one read it. */

import type { LogRange, OperationProgress } from './operation.ts'

/** Offsets of a partition as JSON. */
export interface LogRangeJson {
  readonly topic: string
  readonly partition: number
  readonly from: string
  readonly until: string
}

/** Progress as JSON. */
export interface OperationProgressJson {
  readonly scanned: string
  readonly sent: string
  readonly refused: Readonly<Record<string, string>>
  readonly mayBeRepeated: string
  readonly remaining: readonly LogRangeJson[]
  readonly cursor?: unknown
}

export function rangeToJson({ topic, partition, from, until }: LogRange): LogRangeJson {
  return { topic, partition, from: String(from), until: String(until) }
}

export function rangeFromJson({ topic, partition, from, until }: LogRangeJson): LogRange {
  return { topic, partition, from: BigInt(from), until: BigInt(until) }
}

export function progressToJson(progress: OperationProgress): OperationProgressJson {
  const { scanned, sent, refused, mayBeRepeated, remaining, cursor } = progress
  return {
    scanned: String(scanned),
    sent: String(sent),
    refused: Object.fromEntries(Object.entries(refused).map(([reason, count]) => [reason, String(count)])),
    mayBeRepeated: String(mayBeRepeated),
    remaining: remaining.map(rangeToJson),
    ...(cursor === undefined ? {} : { cursor }),
  }
}

export function progressFromJson(json: OperationProgressJson): OperationProgress {
  const { scanned, sent, refused, mayBeRepeated, remaining, cursor } = json
  return {
    scanned: BigInt(scanned),
    sent: BigInt(sent),
    refused: Object.fromEntries(Object.entries(refused).map(([reason, count]) => [reason, BigInt(count)])),
    mayBeRepeated: BigInt(mayBeRepeated),
    remaining: remaining.map(rangeFromJson),
    ...(cursor === undefined ? {} : { cursor }),
  }
}
