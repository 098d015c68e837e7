import { describeThrown, isWaybillError, WaybillError } from '@waybill/core'

/** An error as an instance reports it to others. */
export interface ReportedError {
  readonly name: string
  readonly code: string | null
  readonly message: string
  readonly impact?: string
  readonly hint?: string
}

/** Returns an error as data. Stacks and causes stay in the log of the instance. */
export function reportOf(error: Error): ReportedError {
  if (!isWaybillError(error)) return { name: error.name, code: null, message: describeThrown(error) }
  const { name, code, happened: message, impact, hint } = error
  return {
    name,
    code,
    message,
    ...(impact === undefined ? {} : { impact }),
    ...(hint === undefined ? {} : { hint }),
  }
}

/** The failure of a command in another process. It has the name and the code of the error there. */
export class InstanceFailedError extends WaybillError {
  static override readonly code = 'WAYBILL_INSTANCE_FAILED'
  readonly instance: string

  constructor(instance: string, { name, code, message, impact, hint }: ReportedError) {
    super(message, { ...(impact === undefined ? {} : { impact }), ...(hint === undefined ? {} : { hint }) })
    this.instance = instance
    this.name = name
    if (code !== null) Object.defineProperty(this, 'code', { value: code, enumerable: true })
  }
}
