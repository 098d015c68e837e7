/** The handlers of the connector's contestants. Each reads the fields that the case asks for. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Binding } from '@waybill/connector'
import type { KafkaRecord } from '@waybill/kafka'
import type { PassMeter } from '../passes/pass-meter.ts'
import type { Reads } from '../passes/pass-result.ts'
import type { Setup } from './setups.ts'

/** Looks at one record. */
export type Look = (record: KafkaRecord) => void

const handlerMs = 5

/** Returns a function that counts a record and reads its fields. */
export function lookWith(meter: PassMeter, reads: Reads): Look {
  if (reads === 'NOTHING') return () => meter.begin()
  if (reads === 'KEY_VALUE')
    return ({ key, value }) => {
      meter.begin()
      meter.read((key as Buffer).length + (value as Buffer).length, value as Buffer)
    }
  return ({ key, value, headers }) => {
    meter.begin()
    let bytes = (key as Buffer).length + (value as Buffer).length
    for (const [name, content] of headers) bytes += name.length + (content?.length ?? 0)
    meter.read(bytes, value as Buffer)
  }
}

/** Creates the handler of a setup. */
export function handlerOf(kind: Setup['handler'], meter: PassMeter, look: Look): Binding['handler'] {
  switch (kind) {
    case 'RETURNS':
      return async (record) => {
        look(record)
        meter.done()
      }
    case 'SLEEPS':
      return async (record) => {
        look(record)
        await sleep(handlerMs)
        meter.done()
      }
    case 'THROWS':
      return async (record) => {
        look(record)
        throw new Error('every record fails')
      }
    case 'BATCH':
      return {
        handleBatch: (records) => {
          for (const record of records) {
            look(record)
            meter.done()
          }
        },
      }
  }
}
