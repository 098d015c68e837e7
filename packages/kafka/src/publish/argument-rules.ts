/** Validates positional arguments. Without types, two of them are easily swapped. */

import type { EventCatalog, Schemas } from '@waybill/core'
import { hasMethods, instance, type Rule, resolveOptions } from '@waybill/core/option'
import type { KafkaClient } from '../client/kafka-client.ts'

const kafka: Rule<Pick<KafkaClient, 'producer'>> = instance('a client from createKafkaClient', (value) =>
  hasMethods(value, 'producer'),
)
const events: Rule<EventCatalog<Schemas>> = instance('a catalog from defineEvents', (value) => {
  const { definitions, wireFormat } = Object(value) as Partial<EventCatalog<Schemas>>
  return typeof definitions === 'object' && typeof wireFormat === 'object'
})

/** @throws OptionsError with every violation */
export function checkCatalog(what: string, given: unknown): void {
  resolveOptions(what, { events }, { events: given })
}

/** @throws OptionsError with every violation */
export function checkClientAndCatalog(what: string, givenClient: unknown, givenCatalog: unknown): void {
  resolveOptions(what, { kafka, events }, { kafka: givenClient, events: givenCatalog })
}
