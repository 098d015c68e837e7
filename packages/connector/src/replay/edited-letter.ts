import { Buffer } from 'node:buffer'
import { RecordHeaders } from '@waybill/core'
import type { DeadLetterEdit } from '../api/dead-letter-selection.ts'
import type { DeadLetterReading } from '../records/dead-letter-record.ts'
import { isEngineHeader } from '../records/record-headers.ts'

/** Returns a dead letter with its value and its application's headers changed. The engine's headers stay. */
export function editedLetter(letter: DeadLetterReading, edit: DeadLetterEdit): DeadLetterReading {
  const { value = letter.record.value, setHeaders = {}, removeHeaders = [] } = edit
  const set = Object.entries(setHeaders).filter(([name]) => !isEngineHeader(name))
  const dropped = new Set([...removeHeaders, ...set.map(([name]) => name)])
  const application = RecordHeaders.from([
    ...letter.application.without((name) => dropped.has(name)),
    ...set.map(([name, text]) => [name, Buffer.from(text)] as const),
  ])
  return { ...letter, application, record: { ...letter.record, value } }
}
