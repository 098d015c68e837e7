import type { Control } from '@waybill/connector'
import type { Runtime } from '@waybill/core'
import type { Capabilities, Harness } from '../suite/harness.ts'

/**
 * An optional capability of a control.
 *
 * - FLEET: a command reaches the instances of other processes too. It waits two seconds for answers.
 */
export type ControlCapability = 'FLEET'

/** The state of each capability. */
export type ControlCapabilities = Capabilities<ControlCapability>

/** Controls for one test, without members and commands. */
export interface ControlUnderTest {
  readonly control: Control
  /** With FLEET: the control of another process of the same fleet. */
  readonly other: Control | null
  /** The runtime of the controls. Tests wait on no other clock. */
  readonly runtime: Runtime
}

/** Gives the suite controls to test. */
export type ControlHarness = Harness<ControlUnderTest, ControlCapability>
