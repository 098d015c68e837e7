/**
 * Leaves a group. A static member whose last JoinGroup was not answered may have a place without knowing its member id:
 * it leaves by its instance id, and again while the coordinator has not processed that JoinGroup yet.
 */

import type { Runtime } from '@waybill/core'
import { errorCode } from '../../wire/api/error-codes.ts'
import { retryWaitMs } from '../cluster/retry-backoff.ts'
import type { CoordinatorLink } from './coordinator-link.ts'

/** The place that a member leaves. */
export interface LeavingMember {
  /** Empty if it is not known. */
  readonly memberId: string
  readonly instanceId: string | null
  /** The JoinGroup of a static member without a member id that was not answered, if there is one. */
  readonly unanswered: Promise<unknown> | undefined
}

/** Never rejects: if the coordinator cannot be reached, the session timeout has the same effect. */
export async function leaveGroup(
  link: CoordinatorLink,
  runtime: Pick<Runtime, 'clock' | 'timers' | 'random' | 'logger'>,
  { memberId, instanceId, unanswered }: LeavingMember,
  timeoutMs: number,
): Promise<void> {
  const { clock, timers, random, logger } = runtime
  if (timeoutMs <= 0 || (memberId === '' && unanswered === undefined)) return
  const endAt = clock.monotonic() + timeoutMs
  const members = [{ memberId, groupInstanceId: instanceId, reason: 'the member stops' }]
  let isSettled = memberId !== ''
  const settle = async (): Promise<void> => {
    await Promise.allSettled([unanswered])
    isSettled = true
  }
  const settled = settle()
  try {
    for (let failures = 1; ; failures++) {
      const isLast = isSettled
      const answer = await link.send(
        'BEAT',
        'LeaveGroup',
        { groupId: link.groupId, members },
        endAt - clock.monotonic(),
      )
      if (isLast || answer.members[0]?.errorCode !== errorCode.UNKNOWN_MEMBER_ID) return
      const stopped = new AbortController()
      const wait = timers.sleep(Math.min(retryWaitMs(failures, random), endAt - clock.monotonic()), stopped.signal)
      await Promise.race([settled, wait.catch(() => {})])
      stopped.abort()
      if (clock.monotonic() >= endAt) return
    }
  } catch (error) {
    logger.warn({ err: error }, 'Group leave failed, session left to expire')
  }
}
