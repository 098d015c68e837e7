import type { Control } from '@waybill/connector'
import type { Capabilities, Harness } from '../suite/harness.ts'

/**
 * An optional capability of a control.
 *
 * - FLEET: a command reaches the instances of other processes too.
 */
export type ControlCapability = 'FLEET'

/** The state of each capability. */
export type ControlCapabilities = Capabilities<ControlCapability>

/** Controls for one test, without members and commands. */
export interface ControlUnderTest {
  readonly control: Control
  /** With FLEET: the control of another process of the same fleet. */
  readonly other: Control | null
}

/** Gives the suite controls to test. */
export type ControlHarness = Harness<ControlUnderTest, ControlCapability>
