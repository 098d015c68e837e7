import { describeThrown } from '@waybill/core'

/** The services Waybill is tested against. `mysql` stands for MySQL and MariaDB alike. */
export const serviceNames = ['kafka', 'postgres', 'mysql', 'redis', 'registry'] as const

/** One of {@link serviceNames}. */
export type ServiceName = (typeof serviceNames)[number]

/** The services that a command without names means. The schema registry is large, and few tests need it. */
export const usualServices: readonly ServiceName[] = serviceNames.filter((name) => name !== 'registry')

/** A service's answer about itself, by its own protocol. */
export interface Answer {
  readonly version: string
  /** Kafka only: the brokers the cluster counts as alive. */
  readonly brokers?: number
}

/** Receives one line of progress of long work. */
export type Progress = (service: ServiceName, text: string) => void

/** Why a service cannot be used or started, and what the reader can do about it. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly hint: string | undefined

  constructor(what: string, hint?: string, cause?: unknown) {
    super(hint === undefined ? what : `${what} ${hint}`, cause === undefined ? undefined : { cause })
    this.hint = hint
  }
}

/** Returns why something cannot be found; undefined when it can. */
export async function obstacleTo(find: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await find()
    return undefined
  } catch (error) {
    return reasonOf(error)
  }
}

/**
 * Returns the reason in one line. Drivers wrap several connection attempts in an error without a message of its own.
 */
export function reasonOf(thrown: unknown): string {
  if (thrown instanceof AggregateError && thrown.errors.length > 0) return reasonOf(thrown.errors[0])
  const text = thrown instanceof Error && thrown.message !== '' ? thrown.message : describeThrown(thrown)
  return text.replace(/\s+/g, ' ').trim()
}
