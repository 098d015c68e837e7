/**
 * Names of OpenTelemetry's messaging conventions, as of semantic conventions 1.45.0. All of them are of development status
 * and move between versions, so they are spelled here and not imported.
 */
export const semantic = {
  system: 'messaging.system.name',
  operation: 'messaging.operation.name',
  operationType: 'messaging.operation.type',
  destination: 'messaging.destination.name',
  partition: 'messaging.destination.partition.id',
  offset: 'kafka.offset',
  key: 'kafka.message.key',
  tombstone: 'kafka.message.tombstone',
  group: 'messaging.consumer.group.name',
  client: 'messaging.client.id',
  messageId: 'messaging.message.id',
  batchCount: 'messaging.batch.message_count',
  errorType: 'error.type',
} as const

/** Former names that many backends still look for. */
export const former = { system: 'messaging.system', offset: 'messaging.kafka.offset' } as const

/** Attributes that the conventions have no name for. */
export const own = {
  eventType: 'waybill.event_type',
  outbox: 'waybill.outbox',
  outboxAttempt: 'waybill.outbox.attempt',
  binding: 'waybill.binding',
  cluster: 'waybill.cluster',
  tier: 'waybill.tier',
  attempt: 'waybill.attempt',
  outcome: 'waybill.outcome',
  reason: 'waybill.dead_letter.reason',
  offset: 'waybill.offset',
  originalTopic: 'waybill.original.topic',
  originalPartition: 'waybill.original.partition',
  originalOffset: 'waybill.original.offset',
  replayCount: 'waybill.replay_count',
  operation: 'waybill.operation',
} as const
