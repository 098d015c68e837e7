/** What functions take in a place of its own rather than in options: without types two of them are soon swapped. */

import type { EventCatalog, Schemas } from '@waybill/core'
import { hasMethods, instance, type Rule, resolveOptions } from '@waybill/core/option'
import type { KafkaClient } from '../client/kafka-client.ts'

const kafka: Rule<Pick<KafkaClient, 'producer'>> = instance('the client that createKafkaClient makes', (value) =>
  hasMethods(value, 'producer'),
)
const events: Rule<EventCatalog<Schemas>> = instance('the catalog that defineEvents makes', (value) => {
  const { definitions, wireFormat } = Object(value) as Partial<EventCatalog<Schemas>>
  return typeof definitions === 'object' && typeof wireFormat === 'object'
})

/** @throws OptionsError with everything that is wrong */
export function checkCatalog(what: string, given: unknown): void {
  resolveOptions(what, { events }, { events: given })
}

/** @throws OptionsError with everything that is wrong */
export function checkClientAndCatalog(what: string, givenClient: unknown, givenCatalog: unknown): void {
  resolveOptions(what, { kafka, events }, { kafka: givenClient, events: givenCatalog })
}
