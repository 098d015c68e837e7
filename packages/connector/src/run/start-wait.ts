import type { Runtime } from '@waybill/core'

/** A part of a start that may have to wait. */
export interface StartWait {
  /** The text after "waiting for": `cluster default to describe the topics of binding orders`. */
  readonly what: string
  /** The advice for the operator. */
  readonly check: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Brokers and databases answer within a second; after three, a user in front of the console wants a reason. */
const patienceMs = 3_000

/**
 * Runs a part of a start, and logs what it waits for when it takes long. The interval doubles each time, so that an
 * outage of a night leaves a dozen lines. The caller logs the outcome.
 *
 * @param over - stops the logging when aborted, even if the part never settles
 */
export async function logSlowStart<T>(
  { what, check, fields }: StartWait,
  { timers, clock, logger }: Pick<Runtime, 'timers' | 'clock' | 'logger'>,
  part: () => Promise<T>,
  over?: AbortSignal,
): Promise<T> {
  const beganAt = clock.monotonic()
  const logAfter = (ms: number): Disposable =>
    timers.schedule(ms, () => {
      if (over?.aborted === true) return
      const waitedMs = Math.round(clock.monotonic() - beganAt)
      logger.warn({ ...fields, waitedMs }, `Start delayed: waiting for ${what}. ${check}`)
      timer = logAfter(ms * 2)
    })
  let timer = logAfter(patienceMs)
  try {
    return await part()
  } finally {
    timer[Symbol.dispose]()
  }
}

const checkBrokers = 'Check that its brokers run and are reachable; the start continues as soon as they answer'

/** The part of a binding that the texts name. */
interface StartingBinding {
  readonly label: string
  readonly cluster: string
  readonly resolved: { readonly selection: unknown }
}

/** Describes the wait for topics, which are described and created. These requests have a deadline. */
export function waitForTopics(bindings: readonly StartingBinding[]): StartWait {
  const seconds = bindings.some(({ resolved }) => resolved.selection instanceof RegExp) ? 10 : 30
  const clusters = [...new Set(bindings.map(({ cluster }) => cluster))]
  const labels = bindings.map(({ label }) => label)
  return {
    what: `cluster ${clusters.join(', ')} to describe the topics of binding ${labels.join(', ')}`,
    check: `${checkBrokers}, and fails after about ${seconds} s`,
    fields: { bindings: labels },
  }
}

/** Describes the wait for the coordinator of a binding's group. */
export function waitForGroups(binding: string, cluster: string, groupId: string): StartWait {
  return {
    what: `cluster ${cluster} to find the coordinator of group ${groupId} of binding ${binding}`,
    check: checkBrokers,
    fields: { binding },
  }
}

/** Describes the wait for the desired state, which a shared control stores outside of the process. */
export function waitForControl(binding: string): StartWait {
  return {
    what: `the connector's control to return the desired state of binding ${binding}`,
    check: 'Check that its store answers; the start continues as soon as it does',
    fields: { binding },
  }
}
