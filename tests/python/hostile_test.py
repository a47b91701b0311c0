import unittest
unittest.main()
