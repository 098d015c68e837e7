import { call } from '../../api/client.ts'
import type { AnswerOf, RequestOf } from '../../api/request.ts'
import { textParam, wordParam } from '../../state/query-codec.ts'

/** The outcomes of changes. */
export const outcomes = ['', 'ASKED', 'REFUSED', 'DONE', 'FAILED'] as const

/** The state of the page. */
export const auditParams = {
  by: textParam(),
  operation: textParam(),
  target: textParam(),
  outcome: wordParam(outcomes, ''),
  since: textParam(),
  cursor: textParam(),
  entry: textParam(),
}

/** A filter of the log. */
export type AuditFilter = Readonly<Record<'by' | 'operation' | 'target' | 'since', string>> & {
  readonly outcome: (typeof outcomes)[number]
}

const pageSize = 100
const exportPage = 500
const exportPages = 10

/** Returns the request of a page. */
export function auditRequest(
  { by, operation, target, since, outcome }: AuditFilter,
  cursor: string,
  limit = pageSize,
): RequestOf<'listAuditEntries'> {
  return {
    query: { by, operation, target, since, limit, cursor, ...(outcome === '' ? {} : { outcome: [outcome] }) },
  }
}

/** Reads the entries of a filter as JSON lines, up to a bound. */
export async function exportEntries(filter: AuditFilter): Promise<string> {
  const lines: string[] = []
  let cursor: string | null = ''
  for (let page = 0; page < exportPages && cursor !== null; page++) {
    const answer: AnswerOf<'listAuditEntries'> = await call(
      'listAuditEntries',
      auditRequest(filter, cursor, exportPage),
    )
    for (const entry of answer.items) lines.push(JSON.stringify(entry))
    cursor = answer.next
  }
  return lines.map((line) => `${line}\n`).join('')
}
