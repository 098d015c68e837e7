import { describe, expect, test } from 'vitest'
import { BatchProcessingError, batchFailureOf } from '../../src/handlers/batch-processing-error.ts'

describe('a BatchProcessingError', () => {
  test('says which record failed, and what is settled', () => {
    const error = new BatchProcessingError(2)
    expect(error.message).toContain('Record 2 of the batch failed.')
    expect(error.message).toContain('The records before it are settled')
  })

  test.each([undefined, -1, 1.5, Number.NaN, '2', null])(
    'says of %o that it is no index, and settles none',
    (given) => {
      const error = new BatchProcessingError(given as number)
      expect(error.message).toContain('is not the index of a record')
      expect(error.message).toContain('No record of the batch is settled')
      expect(error.message).not.toContain('The records before it are settled')
      expect(batchFailureOf(error, 3).index).toBeUndefined()
    },
  )

  test.each([
    [0, 0],
    [2, 2],
    [3, undefined],
  ])('with the index %i is of the record %o of three', (failedIndex, index) => {
    expect(batchFailureOf(new BatchProcessingError(failedIndex), 3).index).toBe(index)
  })

  test('whose index is past the batch says so, settles none, and keeps its cause', () => {
    const cause = new Error('off by one')
    const { error } = batchFailureOf(new BatchProcessingError(3, { cause }), 3)
    expect(error).toMatchObject({ cause, failedIndex: 3 })
    expect((error as Error).message).toContain('The batch of 3 records failed: 3 is not the index of a record in it')
    expect((error as Error).message).toContain('No record of the batch is settled')
  })
})
