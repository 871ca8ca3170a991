# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tiny Qwen3.5 checkpoints whose output, and whose MTP accept length, are known in advance.

The model is an alphabet: after "a" comes "b", after "z" comes "a", after "9" comes "0". It needs no training and no
library, because every part of it is written down by hand.
"""
