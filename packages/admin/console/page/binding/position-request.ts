/** Converts a wish about positions to the request of the API. Pure. */

/** The fields of the dialog. */
export interface PositionForm {
  readonly action: 'seek' | 'skip' | 'reset'
  readonly target: 'EARLIEST' | 'LATEST' | 'offset' | 'time'
  readonly offset: string
  readonly time: string
  readonly partitions: string
  readonly reason: string
}

/** The body of the request, or what is wrong in the form. */
export type PositionBody =
  | {
      readonly kind: 'seek'
      readonly body: { readonly to: SeekTarget; readonly partitions?: readonly number[]; readonly reason?: string }
    }
  | {
      readonly kind: 'skip'
      readonly body: { readonly partition: number; readonly offsets: readonly string[]; readonly reason?: string }
    }
  | { readonly kind: 'reset'; readonly body: { readonly to: ResetTarget; readonly reason?: string } }
  | { readonly kind: 'incomplete' }

type ResetTarget = 'EARLIEST' | 'LATEST' | { readonly timestampMs: string }
type SeekTarget = ResetTarget | { readonly offset: string }

/** Returns the request of a form. Offsets stay texts. */
export function positionBody({ action, target, offset, time, partitions, reason }: PositionForm): PositionBody {
  const why = reason.trim() === '' ? {} : { reason: reason.trim() }
  const list = partitions
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
  if (list.some((one) => !/^\d{1,7}$/.test(one))) return { kind: 'incomplete' }
  const numbers = list.map(Number)
  if (action === 'skip') {
    const [partition] = numbers
    const offsets = offset
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '')
    if (partition === undefined || numbers.length > 1 || offsets.length === 0 || !offsets.every(isOffset))
      return { kind: 'incomplete' }
    return { kind: 'skip', body: { partition, offsets, ...why } }
  }
  const to = targetOf(target, offset.trim(), time.trim())
  if (to === undefined) return { kind: 'incomplete' }
  if (action === 'seek')
    return { kind: 'seek', body: { to, ...(numbers.length === 0 ? {} : { partitions: numbers }), ...why } }
  return typeof to === 'object' && 'offset' in to ? { kind: 'incomplete' } : { kind: 'reset', body: { to, ...why } }
}

function targetOf(target: PositionForm['target'], offset: string, time: string): SeekTarget | undefined {
  if (target === 'EARLIEST' || target === 'LATEST') return target
  if (target === 'offset') return isOffset(offset) ? { offset } : undefined
  return Number.isNaN(Date.parse(time)) ? undefined : { timestampMs: time }
}

function isOffset(text: string): boolean {
  return /^\d{1,19}$/.test(text)
}
