/** The handler of the transforming processes: follows the plan of each record. */

import { Buffer } from 'node:buffer'
import type { DeliveryContext } from '@waybill/connector'
import { isWaybillError, NonRetryableError } from '@waybill/core'
import { createSeededRandom } from '@waybill/core/internal'
import type { OutRecord } from '@waybill/kafka'
import type { ProcessGate } from '../world/process-gate.ts'
import { outputTopic, type Program, tooLargeBytes } from './program.ts'
import { outputsOf, type RecordPlan, unseenOutputOf } from './record-plan.ts'
import type { World } from './world.ts'

const random = createSeededRandom(1)
/** Incompressible bytes. */
const noise = Buffer.from(Array.from({ length: tooLargeBytes }, () => Math.floor(256 * random())))

/** The process in which it runs. */
export interface HandlerPlace {
  readonly world: World
  readonly process: ProcessGate
}

/** See the file's comment. */
export async function handle(place: HandlerPlace, plan: RecordPlan, context: DeliveryContext): Promise<void> {
  const { program } = place.world
  if (isFailing(plan, context)) return fail(place, plan, context)
  const texts = plan.fate === 'REFUSED' ? [unseenOutputOf(plan, 'failed')] : outputsOf(plan)
  for (const text of texts) {
    if (program.handleMs > 0) await work(place)
    context.send(outputOf(plan, text))
  }
  if (plan.fate === 'REFUSED') context.send(refusedOutputOf(plan))
  if (plan.isCareless && isOverAtOnce(program))
    place.process.runtime.timers.schedule(place.world.draw.ms(0, 20), () => sendLate(place, plan, context))
}

/** Returns true when no failpoint can delay the end of a call: a later send would otherwise still count. */
function isOverAtOnce({ points }: Program): boolean {
  return !points.some(({ name }) => name === 'handler.after')
}

function isFailing({ fate }: RecordPlan, { tier, attempt }: DeliveryContext): boolean {
  return fate === 'DEAD' || (fate === 'LATER' && tier === 0) || (fate === 'FLAKY' && attempt === 1)
}

async function fail(place: HandlerPlace, plan: RecordPlan, context: DeliveryContext): Promise<void> {
  const { draw, program } = place.world
  if (program.handleMs > 0) await work(place)
  context.send(outputOf(plan, unseenOutputOf(plan, 'failed')))
  if (plan.fate === 'DEAD') throw new NonRetryableError(plan.value)
  if (plan.fails === 'THROWS' || program.handlerTimeoutMs === false) throw new Error(plan.value)
  await place.process.runtime.timers.sleep(program.handlerTimeoutMs + draw.ms(1, 1_500))
  sendLate(place, plan, context)
}

function work({ world: { draw, program }, process }: HandlerPlace): Promise<void> {
  return process.runtime.timers.sleep(draw.between(0, program.handleMs))
}

/** Sends after the call is over: no reader may ever see it, whether or not the send fails. */
function sendLate({ world: { court }, process }: HandlerPlace, plan: RecordPlan, context: DeliveryContext): void {
  court.reach('send: its call is over')
  try {
    context.send(outputOf(plan, unseenOutputOf(plan, 'late')))
  } catch (error) {
    if (!isWaybillError(error)) court.violate('RUN', `${process.name}: ${String(error)}`)
  }
}

function outputOf({ value }: RecordPlan, text: string): OutRecord {
  return { topic: outputTopic, key: Buffer.from(value), value: Buffer.from(text) }
}

function refusedOutputOf(plan: RecordPlan): OutRecord {
  const name = unseenOutputOf(plan, 'refused')
  const output = outputOf(plan, name)
  switch (plan.refusal) {
    case 'NO_TOPIC':
      return { ...output, topic: 'nowhere' }
    case 'NO_PARTITION':
      return { ...output, partition: 99 }
    case 'TOO_LARGE':
      // The text after the space is not part of its name.
      return { ...output, value: Buffer.concat([Buffer.from(`${name} `), noise]) }
  }
}
