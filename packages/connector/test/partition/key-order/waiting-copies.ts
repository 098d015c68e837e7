import { Buffer } from 'node:buffer'
import type { Original } from '../../../src/partition/key-order/original.ts'
import type { WaitingRead, WaitingRecord } from '../../../src/partition/key-order/waiting-record.ts'
import { recordOf } from '../../delivery/work-of.ts'

/** An original of a key; null for none. */
export function originalAt(offset: number, key: string | null = 'a', timestamp = 1_000): Original {
  return { offset: BigInt(offset), timestamp, key: key === null ? null : Buffer.from(key) }
}

/** What a copy is, beside its place. */
export type CopyParts = Partial<Omit<WaitingRecord, 'at' | 'kind' | 'original' | 'record'>> & {
  readonly key?: string | null
}

/** A record of the waiting topic as it was read. */
export function copy(kind: WaitingRecord['kind'], at: number, offset: number, parts: CopyParts = {}): WaitingRecord {
  const { key = 'a', ...others } = parts
  return {
    kind,
    at: BigInt(at),
    original: originalAt(offset, key),
    replayCount: 0,
    tier: 1,
    attempt: 1,
    dueMs: 0,
    record: recordOf({ topic: 'orders.shipping.waiting', offset: BigInt(at) }),
    ...others,
  }
}

export function fence(at: number): WaitingRead {
  return { kind: 'FENCE', at: BigInt(at) }
}
