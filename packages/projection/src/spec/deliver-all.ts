import { BatchProcessingError } from '@waybill/connector'
import type { KafkaRecord } from '@waybill/kafka'
import type { Projector } from '../projector/create-projector.ts'

/**
 * Delivers records as a connector does: a record that is named as failed is dead, and those behind it are delivered again.
 *
 * @returns the errors of dead records
 * @throws any other error: nothing of the current call was settled
 */
export async function deliverAll(projector: Projector, records: readonly KafkaRecord[]): Promise<readonly unknown[]> {
  const dead: unknown[] = []
  for (let left = records; left.length > 0; ) {
    try {
      await projector.handleBatch(left, undefined as never)
      break
    } catch (error) {
      if (!(error instanceof BatchProcessingError)) throw error
      dead.push(error.cause)
      left = left.slice(error.failedIndex + 1)
    }
  }
  return dead
}
