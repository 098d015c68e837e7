import { BatchProcessingError } from '@waybill/connector'
import type { KafkaRecord } from '@waybill/kafka'
import type { Projector } from '@waybill/projection'

/** A failure of the simulated database, or the death of a consumer. */
export class SimulatedCrash extends Error {}

/** Delivers a batch as a connector does: a record that failed is dead, and those behind it are delivered again. */
export async function deliver(projector: Projector, records: readonly KafkaRecord[]): Promise<void> {
  for (let left = records; left.length > 0; ) {
    try {
      await projector.handleBatch(left, undefined as never)
      return
    } catch (error) {
      if (!(error instanceof BatchProcessingError)) throw error
      left = left.slice(error.failedIndex + 1)
    }
  }
}
