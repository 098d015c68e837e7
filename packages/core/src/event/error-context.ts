import type { ErrorContext } from '../errors.ts'

/** For an event that is refused before it is written. */
export const nothingWritten: ErrorContext = Object.freeze({ impact: 'Nothing was written.' })

/** For a record that cannot be read. */
export const recordUnchanged: ErrorContext = Object.freeze({
  impact: 'The record keeps its bytes.',
  hint: 'Correct its producer or the schema, then replay the dead letter.',
})
