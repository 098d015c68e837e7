import { StateError } from '../errors.ts'
import { isPlainObject } from '../option/show-value.ts'

/**
 * The mark of a request.
 *
 *   none ──compare and set──▶ IN_PROGRESS ──commit──▶ COMPLETED ──its time──▶ none
 *    ▲                            │
 *    └── rollback, or its time ───┘
 */
export type RequestMark =
  | {
      readonly status: 'IN_PROGRESS'
      /** Unique per run, so that no request completes or releases the mark of another. */
      readonly token: string
      readonly fingerprint: string
      /** Epoch ms, by the clock of the node that set it. */
      readonly at: number
    }
  | {
      readonly status: 'COMPLETED'
      readonly fingerprint: string
      readonly at: number
      /** Names the result. */
      readonly reference: string
    }

/** The version of the format. Later versions only add members. */
const format = 1

/** Encodes a mark. The same mark always has the same text. */
export function encodeMark(mark: RequestMark): string {
  return JSON.stringify({ format, ...mark })
}

/** @throws a StateError for a text that is no mark */
export function decodeMark(text: string): RequestMark {
  const { status, token, fingerprint, at, reference } = membersOf(text)
  if (typeof fingerprint === 'string' && typeof at === 'number') {
    if (status === 'IN_PROGRESS' && typeof token === 'string') return { status, token, fingerprint, at }
    if (status === 'COMPLETED' && typeof reference === 'string') return { status, fingerprint, at, reference }
  }
  throw new StateError('The mark of a request cannot be read.', {
    hint: 'Give the store a prefix or a table that no other program uses.',
  })
}

function membersOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return isPlainObject(value) ? value : {}
  } catch {
    return {} // Refused by the caller, as any other text that is no mark.
  }
}
