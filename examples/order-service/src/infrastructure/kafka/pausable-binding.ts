import type { Connector } from '@waybill/connector'
import type { PausableConsumer } from '../../region/region-consumption.ts'

/** Returns a binding as the region sees it. */
export function pausableBinding(connector: Connector, name: string): PausableConsumer {
  return {
    get isRunning() {
      return connector.getState(name) === 'RUNNING'
    },
    get isPaused() {
      return connector.getState(name) === 'PAUSED'
    },
    pause: () => connector.pause(name),
    resume: () => connector.resume(name),
  }
}
