/** The attributes of spans. Values and keys of records are payload: keys are left out unless they are asked for. */

import { Buffer } from 'node:buffer'
import type { Attributes } from '@opentelemetry/api'
import { type CreateScope, causeChain, type ProcessScope, type SendScope } from '@waybill/core/internal'
import { former, own, semantic } from './semantic-names.ts'

/** The options that decide about attributes. */
export interface AttributeOptions {
  /** BOTH adds the former names that many backends still look for. */
  readonly semconv: 'BOTH' | 'CURRENT'
  /** Whether record keys are attributes. */
  readonly keys: boolean
}

/** Returns the attributes of the creation of an event. */
export function attributesOfCreate({ eventType, eventId, outbox }: CreateScope, options: AttributeOptions): Attributes {
  return compact({
    ...operation('create', 'create', options),
    [own.eventType]: eventType,
    [semantic.messageId]: eventId,
    [own.outbox]: outbox,
  })
}

/** Returns the attributes of a send. */
export function attributesOfSend({ topic, eventId, attempt }: SendScope, options: AttributeOptions): Attributes {
  return compact({
    ...operation('send', 'send', options),
    [semantic.destination]: topic,
    [semantic.messageId]: eventId,
    [own.outboxAttempt]: attempt,
  })
}

/** Returns the attributes of a delivery. */
export function attributesOfProcess(of: ProcessScope, options: AttributeOptions): Attributes {
  return compact({
    ...operation('process', 'process', options),
    [semantic.destination]: of.topic,
    [semantic.group]: of.groupId,
    [semantic.client]: of.consumerInstance,
    [semantic.messageId]: of.eventId,
    [semantic.tombstone]: of.isTombstone ? true : undefined,
    [semantic.key]: options.keys && of.key !== null ? Buffer.from(of.key).toString('utf8') : undefined,
    [semantic.batchCount]: of.batch?.count,
    ...placeAttributes(of, options),
    [own.binding]: of.binding,
    [own.cluster]: of.cluster,
    [own.tier]: of.tier,
    [own.attempt]: of.attempt,
    [own.replayCount]: of.replayCount > 0 ? of.replayCount : undefined,
    [own.operation]: of.operation,
    [own.originalTopic]: of.original?.topic,
    [own.originalPartition]: of.original?.partition,
    [own.originalOffset]: of.original?.offset.toString(),
  })
}

/** Returns the attributes of a position in the log. An offset beyond 2^53 is a text of its own name. */
export function placeAttributes(
  { partition, offset }: { readonly partition: number; readonly offset: bigint },
  { semconv }: AttributeOptions,
): Attributes {
  const isExact = offset <= BigInt(Number.MAX_SAFE_INTEGER)
  return compact({
    [semantic.partition]: `${partition}`,
    [semantic.offset]: isExact ? Number(offset) : undefined,
    [former.offset]: isExact && semconv === 'BOTH' ? Number(offset) : undefined,
    [own.offset]: isExact ? undefined : offset.toString(),
  })
}

const longestErrorType = 50

/** Returns the code of an error of Waybill, else the name of its class. */
export function errorTypeOf(error: unknown): string {
  const code = causeChain(error)
    .map((one) => (one as { readonly code?: unknown } | null | undefined)?.code)
    .find((one) => typeof one === 'string' && one.startsWith('WAYBILL_'))
  if (typeof code === 'string') return code
  return (error instanceof Error ? error.name : typeof error).slice(0, longestErrorType)
}

function operation(name: string, type: string, { semconv }: AttributeOptions): Attributes {
  return {
    [semantic.system]: 'kafka',
    ...(semconv === 'BOTH' ? { [former.system]: 'kafka' } : {}),
    [semantic.operation]: name,
    [semantic.operationType]: type,
  }
}

function compact(attributes: Attributes): Attributes {
  const present: Attributes = {}
  for (const name of Object.keys(attributes)) {
    const value = attributes[name]
    if (value !== undefined) present[name] = value
  }
  return present
}
